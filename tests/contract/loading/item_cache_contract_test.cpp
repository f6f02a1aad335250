// What every cache of data items keeps to.
#include <gtest/gtest.h>

#include "loading/item_cache.h"

namespace uvmsim {
namespace {

class ItemCacheContract : public testing::TestWithParam<std::string> {
 protected:
  static std::unique_ptr<ItemCache> cache(std::int64_t items, std::int64_t capacity) {
    return item_caches().find(GetParam())->make()->make(items, capacity);
  }
  static std::int64_t held(const ItemCache& cache, std::int64_t items) {
    std::int64_t count = 0;
    for (std::int64_t item = 0; item < items; ++item) count += cache.has(item) ? 1 : 0;
    return count;
  }
};

// 37 and 100 have no common divisor: each round reads every item once.
TEST_P(ItemCacheContract, HoldsNoMoreThanItsCapacity) {
  for (const std::int64_t capacity : {0, 1, 10, 100, 1000}) {
    const auto c = cache(100, capacity);
    EXPECT_EQ(held(*c, 100), 0);
    for (std::int64_t i = 0; i < 300; ++i) {
      c->read(i * 37 % 100);
      EXPECT_LE(held(*c, 100), capacity);
    }
    EXPECT_EQ(held(*c, 100), std::min<std::int64_t>(capacity, 100));
  }
}

TEST_P(ItemCacheContract, KeepsEverythingWhereThereIsRoom) {
  const auto c = cache(50, 50);
  for (std::int64_t item = 0; item < 50; ++item) c->read(item);
  for (std::int64_t item = 0; item < 50; ++item) EXPECT_TRUE(c->has(item));
}

INSTANTIATE_TEST_SUITE_P(All, ItemCacheContract, testing::ValuesIn(item_caches().names()),
                         [](const auto& of) { return of.param; });

}  // namespace
}  // namespace uvmsim
