#include "plan/reclaim.h"

namespace uvmsim {
namespace {

class Earliest final : public ReclaimPolicy {
 public:
  std::vector<std::size_t> choose(std::span<const IdleTensor> idle, std::int64_t bytes) const override {
    return first_with(idle, bytes);
  }
};

const bool kRegistered = add_plug_in<ReclaimPolicy, Earliest>(
    {.name = "earliest",
     .summary = "the longest idle first, until there are enough bytes",
     .source = "Peng et al., ASPLOS 2020 (Capuchin): passive mode, earliest accessed"});

}  // namespace
}  // namespace uvmsim
