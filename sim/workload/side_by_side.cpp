#include "workload/side_by_side.h"

#include "trace/visitor.h"
#include "trace/without_records.h"
#include "workload/unused.h"

namespace uvmsim {
namespace {

class Replicas {
 public:
  explicit Replicas(const trace::Trace& trace) : in_(trace), unused_(trace), out_(without_records(trace)) {}

  trace::Trace run(int width) {
    const auto copies = static_cast<std::size_t>(width);
    std::vector<trace::DeviceInfo>& devices = out_.header.devices;
    devices.clear();
    for (std::size_t r = 0; r < copies; ++r)
      devices.insert(devices.end(), in_.header.devices.begin(), in_.header.devices.end());
    out_.header.host_op_ns /= width;
    out_.records.reserve(in_.records.size() * copies);
    for (const trace::Record& record : in_.records) {
      out_.records.push_back(record);
      if (of_all(record)) continue;
      for (int r = 1; r < width; ++r) std::visit([&](auto copy) { add(copy, r); }, record);
    }
    return std::move(out_);
  }

 private:
  static bool of_all(const trace::Record& record) {
    const auto* step = std::get_if<trace::HostStep>(&record);
    return (step != nullptr && step->accesses.count == 0) || std::holds_alternative<trace::Iteration>(record) ||
           std::holds_alternative<trace::Phase>(record) || std::holds_alternative<trace::Layer>(record);
  }

  template <class R>
  void add(R& r, int replica) {
    const int devices = static_cast<int>(in_.header.devices.size());
    if constexpr (requires { r.device; }) r.device = static_cast<std::int8_t>(r.device + replica * devices);
    if constexpr (requires { r.peer; })
      if (r.peer >= 0) r.peer = static_cast<std::int8_t>(r.peer + replica * devices);
    if constexpr (requires { r.destination; })
      if (r.destination >= 0) r.destination = static_cast<std::int8_t>(r.destination + replica * devices);
    if constexpr (requires { r.stream; })
      if (r.stream >= 0) r.stream += replica * unused_.stream;
    if constexpr (requires { r.event; }) r.event += replica * unused_.event;
    if constexpr (requires { r.tensor; }) r.tensor += replica * unused_.tensor;
    if constexpr (requires { r.accesses; }) {
      const trace::AccessSpan span = r.accesses;
      r.accesses.first = static_cast<std::uint32_t>(out_.accesses.size());
      for (std::uint32_t i = span.first; i < span.first + span.count; ++i) {
        out_.accesses.push_back(in_.accesses[i]);
        out_.accesses.back().tensor += replica * unused_.tensor;
      }
    }
    out_.records.emplace_back(r);
  }

  const trace::Trace& in_;
  const Unused unused_;
  trace::Trace out_;
};

}  // namespace

trace::Trace side_by_side(const trace::Trace& trace, int width) { return Replicas(trace).run(width); }

}  // namespace uvmsim
