#include "uvm/eviction/eviction_policy.h"

namespace uvmsim {
namespace {

// The driver's order; pages of a victim that no tensor occupies (the framework's allocator keeps them for its next
// request) are dropped: neither copied out now nor back in later.
class DropInactive final : public EvictionPolicy {
 public:
  EvictionNeeds needs() const override { return {.tensors = true, .drops_inactive = true}; }
  RootChunkIndex victim(const EvictionView& view) override { return driver_victim(view); }
};

const bool kRegistered = add_plug_in<EvictionPolicy, DropInactive>(
    {.name = "drop_inactive",
     .summary = "the driver's order; memory that the framework's allocator holds free is dropped instead of copied",
     .source = "Jung et al., ASPLOS 2023 (DeepUM): blocks of inactive allocator memory are invalidated",
     .on_hardware = "another nvidia-uvm and allocator; nearest without: UvmDiscard at each free (driver 580)"});

}  // namespace
}  // namespace uvmsim
