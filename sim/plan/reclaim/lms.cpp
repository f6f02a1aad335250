#include <algorithm>

#include "plan/reclaim.h"

namespace uvmsim {
namespace {

// One tensor is enough where there is one that is large enough: the longest idle of those.
class Lms final : public ReclaimPolicy {
 public:
  std::vector<std::size_t> choose(std::span<const IdleTensor> idle, std::int64_t bytes) const override {
    const auto large = std::ranges::find_if(idle, [&](const IdleTensor& tensor) { return tensor.bytes >= bytes; });
    if (large != idle.end()) return {static_cast<std::size_t>(large - idle.begin())};
    return first_with(idle, bytes);
  }
};

const bool kRegistered = add_plug_in<ReclaimPolicy, Lms>(
    {.name = "lms",
     .summary = "the longest idle tensor that is large enough alone, else the longest idle until there are enough",
     .source = "IBM/pytorch-large-model-support, patch for PyTorch 1.5"});

}  // namespace
}  // namespace uvmsim
