#include <vector>

#include "loading/item_cache.h"

namespace uvmsim {
namespace {

// The first items read stay for good: as every item is read once per epoch, none is worth more than another, and each
// epoch hits as many as fit.
class MinIo final : public ItemCache {
 public:
  MinIo(std::int64_t items, std::int64_t capacity) : held_(static_cast<std::size_t>(items)), room_(capacity) {}

  bool has(std::int64_t item) const override { return held_[static_cast<std::size_t>(item)]; }

  void read(std::int64_t item) override {
    if (has(item) || room_ == 0) return;
    held_[static_cast<std::size_t>(item)] = true;
    --room_;
  }

 private:
  std::vector<bool> held_;
  std::int64_t room_;
};

const bool kRegistered = add_plug_in<ItemCache, MinIo>(
    {.name = "minio",
     .summary = "items that were read first stay: nothing is ever evicted",
     .source = "Mohan et al., Analyzing and Mitigating Data Stalls in DNN Training, VLDB 2021 (CoorDL): MinIO",
     .on_hardware = "a data loader with a cache of its own, such as CoorDL"});

}  // namespace
}  // namespace uvmsim
