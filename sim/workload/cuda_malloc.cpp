#include "workload/cuda_malloc.h"

#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace uvmsim {
namespace {

using trace::CopyDirection;

// Walks the records once, in host issue order.
class WithoutManagedMemory {
 public:
  explicit WithoutManagedMemory(trace::Trace trace) : trace_(std::move(trace)) {}

  trace::Trace run() {
    std::vector<trace::Record> records = std::exchange(trace_.records, {});
    trace_.records.reserve(records.size());
    for (trace::Record& record : records) std::visit([this](auto& r) { add(r); }, record);
    return std::move(trace_);
  }

 private:
  struct OnGpu {
    std::int64_t bytes = 0;
    std::int8_t device = 0;
    std::vector<trace::Access> written = {};  // by the host since the GPU last had all of it
    bool ahead = false;                       // the GPU wrote it after the host last had all of it
  };

  template <class R>
  void add(R& r) {
    if constexpr (requires { r.accesses; }) bring(r.accesses);
    trace_.records.emplace_back(std::move(r));
  }

  void add(trace::Alloc& r) {
    if (r.space == static_cast<std::int8_t>(trace::Space::Managed))
      r.space = static_cast<std::int8_t>(trace::Space::Device);
    const bool on_gpu = r.space < 0 || r.space == static_cast<std::int8_t>(trace::Space::Device);
    if (on_gpu) tensors_[r.tensor] = {.bytes = r.bytes, .device = r.device};
    trace_.records.emplace_back(r);
  }

  void add(trace::Free& r) {
    tensors_.erase(r.tensor);
    trace_.records.emplace_back(r);
  }

  void add(trace::HostStep& r) {
    const std::vector<trace::Access> touched(trace_.accesses.begin() + r.accesses.first,
                                             trace_.accesses.begin() + r.accesses.first + r.accesses.count);
    for (const trace::Access& access : touched)
      if (const auto found = tensors_.find(access.tensor); found != tensors_.end())
        if (access.mode != trace::Mode::Write && found->second.ahead) {
          copy(CopyDirection::DeviceToHost, access, found->second);
          found->second.ahead = bytes_of(access, found->second) < found->second.bytes;
        }
    trace_.records.emplace_back(r);
    for (const trace::Access& access : touched)
      if (const auto found = tensors_.find(access.tensor); found != tensors_.end())
        if (access.mode != trace::Mode::Read) found->second.written.push_back(access);
  }

  static std::int64_t bytes_of(const trace::Access& access, const OnGpu& tensor) {
    return access.length < 0 ? tensor.bytes - access.offset : access.length;
  }

  // The GPU is about to use these.
  void bring(trace::AccessSpan span) {
    for (std::uint32_t i = span.first; i < span.first + span.count; ++i) {
      const trace::Access use = trace_.accesses[i];
      const auto found = tensors_.find(use.tensor);
      if (found == tensors_.end()) continue;
      const std::vector<trace::Access> written = std::exchange(found->second.written, {});
      const bool overwritten = use.mode == trace::Mode::Write && bytes_of(use, found->second) == found->second.bytes;
      for (std::size_t w = 0; !overwritten && w < written.size(); ++w)
        copy(CopyDirection::HostToDevice, written[w], found->second);
      found->second.ahead |= use.mode != trace::Mode::Read;
    }
  }

  void copy(CopyDirection direction, const trace::Access& touched, const OnGpu& tensor) {
    const bool in = direction == CopyDirection::HostToDevice;
    const auto first = static_cast<std::uint32_t>(trace_.accesses.size());
    trace_.accesses.push_back({.tensor = touched.tensor,
                               .mode = in ? trace::Mode::Write : trace::Mode::Read,
                               .offset = touched.offset,
                               .length = touched.length});
    trace_.records.emplace_back(trace::Copy{.direction = direction,
                                            .bytes = bytes_of(touched, tensor),
                                            .accesses = {first, 1},
                                            .device = tensor.device,
                                            .pinned = false,
                                            .asynchronous = false});
  }

  trace::Trace trace_;
  std::unordered_map<trace::TensorId, OnGpu> tensors_;  // alive; looked up, never walked
};

}  // namespace

trace::Trace with_cuda_malloc(trace::Trace trace) { return WithoutManagedMemory(std::move(trace)).run(); }

}  // namespace uvmsim
