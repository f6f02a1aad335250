#include "loading/item_cache.h"

#include <cmath>
#include <gtest/gtest.h>

#include "loading/data_loader.h"

namespace uvmsim {
namespace {

// The share of items that an epoch finds in a cache of `share` of them.
double hit_rate(const std::string& cache, double share, bool shuffled) {
  DataConfig data;
  data.items = 100'000;
  data.item_bytes = Bytes{1000};
  data.shuffled = shuffled;
  data.cache_memory = Bytes{static_cast<std::int64_t>(share * 100'000 * 1000)};
  data.cache_factory = item_caches().find(cache)->make();
  const LoadedEpoch epoch =
      load_epoch(data, {.iteration = microseconds(1), .samples = 10, .memory_read = BytesPerSecond{1'000'000'000}},
                 LoadedFrom::Storage);
  EXPECT_EQ(epoch.items.all(), 100'000);
  return epoch.items.share(epoch.items.cached);
}

// Whatever the order: 35 of 100 items stay.
TEST(MinIo, HitsAsManyItemsAsFit) {
  EXPECT_DOUBLE_EQ(hit_rate("minio", 0.35, true), 0.35);
  EXPECT_DOUBLE_EQ(hit_rate("minio", 0.35, false), 0.35);
  EXPECT_DOUBLE_EQ(hit_rate("minio", 0, true), 0);
}

// When an item comes round again all others have been read, more than fit.
TEST(Lru, NeverHitsInAScanOfMoreThanFits) {
  EXPECT_DOUBLE_EQ(hit_rate("lru", 0.35, false), 0);
  EXPECT_DOUBLE_EQ(hit_rate("lru", 0.99999, false), 0);
  EXPECT_DOUBLE_EQ(hit_rate("lru", 1, false), 1);
  EXPECT_DOUBLE_EQ(hit_rate("lru", 0, true), 0);
}

// An item at share u of one epoch and v of the next comes after 1 - u of the items, v of them, and (1 - u) v twice:
// it is there when 1 - u (1 - v) < c. P(XY > 1 - c) of two uniform numbers is c + (1 - c) ln(1 - c).
TEST(Lru, HitsLessThanItHoldsInShuffledEpochs) {
  for (const double c : {0.35, 0.5, 0.65})
    EXPECT_NEAR(hit_rate("lru", c, true), c + (1 - c) * std::log(1 - c), 0.005) << c;
}

TEST(Lru, ForgetsTheItemReadLongestAgo) {
  const auto cache = item_caches().find("lru")->make()->make(4, 2);
  cache->read(0);
  cache->read(1);
  cache->read(0);
  cache->read(2);
  EXPECT_TRUE(cache->has(0));
  EXPECT_FALSE(cache->has(1));
  EXPECT_TRUE(cache->has(2));
}

}  // namespace
}  // namespace uvmsim
