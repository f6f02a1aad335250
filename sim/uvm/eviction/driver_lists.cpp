#include "uvm/eviction/eviction_policy.h"

namespace uvmsim {
namespace {

// The driver's order: head of unused, then discarded, then used. Within a list the head is the chunk least
// recently serviced: accesses that hit leave no trace, so a hot block that never faults drifts to the head.
class DriverLists final : public EvictionPolicy {
 public:
  RootChunkIndex victim(const EvictionView& view) override { return driver_victim(view); }
};

const bool kRegistered = add_plug_in<EvictionPolicy, DriverLists>(
    {.name = "driver",
     .summary = "evict an unused, then a discarded, then the least recently serviced root chunk",
     .source = "uvm_pmm_gpu.c: pick_root_chunk_to_evict",
     .on_hardware = "nothing: what the driver does"});

}  // namespace
}  // namespace uvmsim
