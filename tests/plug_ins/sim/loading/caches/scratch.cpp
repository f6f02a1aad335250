#include "loading/item_cache.h"

namespace uvmsim {
namespace {

// Every other item, whatever there is room for.
class Scratch final : public ItemCache {
 public:
  Scratch(std::int64_t, std::int64_t) {}
  bool has(std::int64_t item) const override { return item % 2 == 0; }
  void read(std::int64_t) override {}
};

const bool kRegistered =
    add_plug_in<ItemCache, Scratch>({.name = "scratch", .summary = "an example", .source = "a test"});

}  // namespace
}  // namespace uvmsim
