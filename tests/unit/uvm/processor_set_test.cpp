#include "uvm/processor_set.h"

#include <gtest/gtest.h>
#include <vector>

namespace uvmsim {
namespace {

// The host and 64 GPUs are 65 processors: more than one word has bits.
TEST(ProcessorSet, HoldsTheHostAnd127Gpus) {
  ProcessorSet set;
  EXPECT_TRUE(set.empty());
  for (const int p : {70, 3, 127}) set.insert({static_cast<std::int8_t>(p)});
  EXPECT_EQ(set.count(), 3);
  EXPECT_EQ(set.first(), ProcessorId{3});
  std::vector<int> ascending;
  set.for_each([&](ProcessorId p) { ascending.push_back(p.value); });
  EXPECT_EQ(ascending, (std::vector<int>{3, 70, 127}));
  ProcessorSet high = set;
  high.erase({3});
  EXPECT_EQ(high.first(), ProcessorId{70});
  EXPECT_TRUE(high.subset_of(set));
  EXPECT_FALSE(set.subset_of(high));
  EXPECT_EQ(set & high, high);
  EXPECT_EQ(set | high, set);
  EXPECT_FALSE(high.contains({6}));  // 70 - 64
}

}  // namespace
}  // namespace uvmsim
