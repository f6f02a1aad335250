#include <vector>

#include "loading/item_cache.h"

namespace uvmsim {
namespace {

// The item read longest ago goes. Every item is read once per epoch, so what is kept is what will be read last: a scan
// of more items than fit never hits.
class Lru final : public ItemCache {
 public:
  Lru(std::int64_t items, std::int64_t capacity)
      : room_(capacity), next_(static_cast<std::size_t>(items) + 1, kAbsent), previous_(next_) {
    next_.back() = previous_.back() = ring();
  }

  bool has(std::int64_t item) const override { return next_[static_cast<std::size_t>(item)] != kAbsent; }

  void read(std::int64_t item) override {
    if (has(item))
      take_out(item);
    else if (room_ > 0)
      --room_;
    else if (const std::int64_t oldest = next_.back(); oldest != ring())
      take_out(oldest);
    else
      return;  // no capacity at all
    put_last(item);
  }

 private:
  static constexpr std::int64_t kAbsent = -1;
  // The items in the order in which they were read are a ring that starts and ends here.
  std::int64_t ring() const { return static_cast<std::int64_t>(next_.size()) - 1; }
  std::int64_t& next(std::int64_t item) { return next_[static_cast<std::size_t>(item)]; }
  std::int64_t& previous(std::int64_t item) { return previous_[static_cast<std::size_t>(item)]; }

  void take_out(std::int64_t item) {
    next(previous(item)) = next(item);
    previous(next(item)) = previous(item);
    next(item) = kAbsent;
  }
  void put_last(std::int64_t item) {
    const std::int64_t last = previous_.back();
    next(last) = item;
    previous(item) = last;
    next(item) = ring();
    previous_.back() = item;
  }

  std::int64_t room_;
  std::vector<std::int64_t> next_, previous_;
};

const bool kRegistered = add_plug_in<ItemCache, Lru>(
    {.name = "lru",
     .summary = "evict the item read longest ago, as an operating system's page cache does (without its second list)",
     .source = "Mohan et al., Analyzing and Mitigating Data Stalls in DNN Training, VLDB 2021, on page caches",
     .on_hardware = "nothing"});

}  // namespace
}  // namespace uvmsim
