// Which way of a kernel cuDNN takes where the framework lets it measure them (torch.backends.cudnn.benchmark).
//
// Source: PyTorch 1.0, aten/src/ATen/native/cudnn/Conv.cpp. When a convolution first runs, findAlgorithm runs every
// algorithm on its tensors and keeps the fastest for good (BenchmarkCache). An algorithm takes part if its workspace is
// no larger than what cudaMemGetInfo calls free or than the largest cached block (getMaxWorkspaceSize). The workspace
// comes from the framework's allocator, and from new memory, because every such search ends by emptying the cache.
// Managed memory that nobody prefetched is populated by page faults during the measurement: algorithms with a workspace
// then look slower than they are. That is why an allocator prefetches after cudaMallocManaged (Sakharnykh et al., GTC
// 2019: "otherwise cuDNN may select sub-optimal kernels").
//
// The time of the searches is not part of a run: they are in its first iteration.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>

#include "base/units.h"
#include "trace/record.h"

namespace uvmsim {

class CudnnChoice {
 public:
  static constexpr std::int32_t kAsRecorded = -1;

  // `trace` must outlive this object.
  explicit CudnnChoice(const trace::Trace& trace) : trace_(trace) {}

  // What was chosen when `kernel`, or one like it, first ran: a launch variant of its own, or kAsRecorded, which needs
  // no workspace. nullopt: it has not run yet.
  std::optional<std::int32_t> chosen(const trace::Kernel& kernel) const;
  // It runs for the first time. `room`: of the largest workspace there can be; `populate`: the time that page faults
  // take to populate 2 MiB of it, 0: nothing of it faults.
  std::int32_t choose(const trace::Kernel& kernel, Bytes room, Duration populate);
  // Its workspace could not be allocated: from now on it runs as it is recorded.
  void fall_back(const trace::Kernel& kernel) { chosen_[key_of(kernel)] = kAsRecorded; }

  const trace::LaunchVariants& variants_of(const trace::Kernel& kernel) const {
    return trace_.variants[static_cast<std::size_t>(kernel.variants)];
  }

 private:
  using Key = std::tuple<trace::StringIndex, std::int32_t, std::int64_t, double>;
  static Key key_of(const trace::Kernel& kernel) {
    return {kernel.name, kernel.variants, kernel.duration_ns, kernel.flops};
  }

  const trace::Trace& trace_;
  std::map<Key, std::int32_t> chosen_;
};

}  // namespace uvmsim
