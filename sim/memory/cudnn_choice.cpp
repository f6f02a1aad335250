#include "memory/cudnn_choice.h"

namespace uvmsim {

std::optional<std::int32_t> CudnnChoice::chosen(const trace::Kernel& kernel) const {
  const auto found = chosen_.find(key_of(kernel));
  return found == chosen_.end() ? std::nullopt : std::optional(found->second);
}

std::int32_t CudnnChoice::choose(const trace::Kernel& kernel, Bytes room, Duration populate) {
  std::int32_t fastest = kAsRecorded;
  Duration least = nanoseconds(kernel.duration_ns);
  const trace::LaunchVariants& variants = variants_of(kernel);
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (variants[i].workspace > room.value) continue;
    const std::int64_t chunks = (variants[i].workspace + kBlockBytes - 1) / kBlockBytes;
    const Duration measured = nanoseconds(variants[i].duration_ns) + populate * chunks;
    if (measured >= least) continue;
    least = measured;
    fastest = static_cast<std::int32_t>(i);
  }
  return chosen_[key_of(kernel)] = fastest;
}

}  // namespace uvmsim
