#include "plan/reclaim.h"

namespace uvmsim {
namespace {

class NoReclaim final : public ReclaimPolicy {
 public:
  std::vector<std::size_t> choose(std::span<const IdleTensor>, std::int64_t) const override { return {}; }
};

const bool kRegistered = add_plug_in<ReclaimPolicy, NoReclaim>(
    {.name = "none", .summary = "the process is out of memory", .source = "what cudaMalloc does"});

}  // namespace
}  // namespace uvmsim
