#include "uvm/prefetch/prefetch_policy.h"

namespace uvmsim {
namespace {

class Scratch final : public PrefetchPolicy {
 public:
  PageMask prefetch(const PrefetchView&) const override { return {}; }
};

const bool kRegistered = add_plug_in<PrefetchPolicy, Scratch>(
    {.name = "scratch", .summary = "an example", .source = "a test", .on_hardware = "nothing"});

}  // namespace
}  // namespace uvmsim
