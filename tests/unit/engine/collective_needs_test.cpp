#include "engine/collective_needs.h"

#include <gtest/gtest.h>

#include "support/star.h"

namespace uvmsim {
namespace {

using namespace testing_support;
using trace::Collective;

// Issued in this order: a sum on stream 1, two kernels on stream 0, an event of stream 1 for which stream 0 waits, a
// kernel there that needs the sum, a sum on stream 0 and the kernel behind it. Nothing waits for the last sum.
TEST(CollectiveNeeds, CountsTheKernelsBeforeTheOneThatWaits) {
  Program p = one_iteration();
  p.ops.push_back(collective(Collective::AllReduce, 0, 1, 0, 1));
  p.ops.push_back(kernel(0, 1));
  p.ops.push_back(kernel(0, 1));
  p.ops.push_back(op::EventRecord{0, 1});
  p.ops.push_back(op::EventWait{0, 0});
  p.ops.push_back(kernel(0, 1));
  p.ops.push_back(collective(Collective::AllReduce, 0, 1));
  p.ops.push_back(kernel(0, 1));
  p.ops.push_back(collective(Collective::AllReduce, 0, 1));
  const auto needs = kernels_before_need(p);
  const auto need = [&](std::size_t op) { return needs.at(&std::get<op::Collective>(p.ops[op])); };
  EXPECT_EQ(needs.size(), 2u);
  EXPECT_EQ(need(1), 2);
  EXPECT_EQ(need(7), 0);
}

}  // namespace
}  // namespace uvmsim
