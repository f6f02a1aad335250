#include "workload/sync_gradients.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/user_error.h"

namespace uvmsim {
namespace {

class GradientSync {
 public:
  explicit GradientSync(const trace::Trace& trace) : in_(trace), out_(trace) { out_.records.clear(); }

  trace::Trace run() {
    for (const trace::Record& record : in_.records) {
      if (std::holds_alternative<trace::Iteration>(record)) end_iteration();
      std::visit([this](const auto& r) { follow(r); }, record);
      out_.records.push_back(record);
    }
    end_iteration();
    return std::move(out_);
  }

 private:
  template <class Other>
  void follow(const Other&) {}
  void follow(const trace::Alloc& alloc) {
    if (alloc.kind < in_.header.kinds.size() && in_.header.kinds[alloc.kind] == "wgrad")
      gradients_[alloc.tensor] = alloc.bytes;
  }
  void follow(const trace::Free& free) { gradients_.erase(free.tensor); }
  void follow(const trace::Kernel& kernel) {
    stream_ = kernel.stream;
    device_ = kernel.device;
  }
  void follow(const trace::Iteration&) { in_iteration_ = true; }

  void end_iteration() {
    if (!in_iteration_) return;
    if (gradients_.empty())
      throw UserError(in_.header.name, {{"/workload/sync_gradients", "an iteration ends without a weight gradient"}});
    trace::CollectiveOp all_reduce{.kind = trace::Collective::AllReduce,
                                   .stream = stream_,
                                   .accesses = {.first = static_cast<std::uint32_t>(out_.accesses.size()),
                                                .count = static_cast<std::uint32_t>(gradients_.size())},
                                   .device = device_};
    for (const auto& [tensor, bytes] : gradients_) {
      out_.accesses.push_back({.tensor = tensor, .mode = trace::Mode::ReadWrite});
      all_reduce.bytes += bytes;
    }
    out_.records.emplace_back(all_reduce);
  }

  const trace::Trace& in_;
  trace::Trace out_;
  std::map<trace::TensorId, std::int64_t> gradients_;  // live ones, with their bytes
  std::int32_t stream_ = 0;
  std::int8_t device_ = 0;
  bool in_iteration_ = false;
};

}  // namespace

trace::Trace sync_gradients(const trace::Trace& trace) { return GradientSync(trace).run(); }

}  // namespace uvmsim
