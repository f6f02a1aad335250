#include "plan/reclaim.h"

namespace uvmsim {
namespace {

class Scratch final : public ReclaimPolicy {
 public:
  std::vector<std::size_t> choose(std::span<const IdleTensor> idle, std::int64_t) const override {
    if (idle.empty()) return {};
    return {idle.size() - 1};
  }
};

const bool kRegistered =
    add_plug_in<ReclaimPolicy, Scratch>({.name = "scratch", .summary = "an example", .source = "a test"});

}  // namespace
}  // namespace uvmsim
