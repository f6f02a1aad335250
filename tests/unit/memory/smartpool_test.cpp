// An iteration, four times over, of blocks in MiB: a (4) and b (2) are allocated, a is freed, c (3) is allocated, b and
// c are freed, d (6) comes and goes; a block of 1 MiB lasts from its begin to its end. 34 events. Packed the largest
// first: d at 0; a at 0, as no d is alive with it; c at 0, likewise; b behind a, at 4; the lasting one behind all,
// at 6.
#include <gtest/gtest.h>

#include "support/fake_upstream.h"
#include "support/sizes.h"

namespace uvmsim {
namespace {

struct Seen {
  std::vector<VirtualAddress> addresses{};
  std::int64_t most = 0;  // reserved
};

Seen iteration(Allocator& pool) {
  Seen seen;
  const auto make = [&](std::int64_t mib) {
    seen.addresses.push_back(pool.allocate({Bytes{mib * kMiB}}).value());
    seen.most = std::max(seen.most, pool.reserved().value);
    return seen.addresses.back();
  };
  const VirtualAddress lasting = make(1);
  for (int n = 0; n < 4; ++n) {
    const VirtualAddress a = make(4), b = make(2);
    pool.free(a);
    const VirtualAddress c = make(3);
    pool.free(b);
    pool.free(c);
    pool.free(make(6));
  }
  pool.free(lasting);
  return seen;
}

// After the second iteration the pool has d's 6 MiB and the lasting block's 1 beside it, and serves all that follows.
TEST(SmartPool, PacksAnIterationThatItSawTwice) {
  FakeUpstream upstream;
  const auto pool = make_allocator("smartpool", upstream);
  iteration(*pool);
  EXPECT_EQ(pool->reserved().value, 0);  // all is with the driver, which has it back
  iteration(*pool);
  EXPECT_EQ(pool->reserved().value, 7 * kMiB);
  const Seen third = iteration(*pool), fourth = iteration(*pool);
  EXPECT_EQ(third.most, 7 * kMiB);
  EXPECT_EQ(third.addresses, fourth.addresses);
}

// A block that is freed once its successor is there, as a loss that a program keeps, is none of the pool's. The third
// and fourth iteration are alike: what the second one frees is of the first, which freed none.
TEST(SmartPool, LeavesWhatOutlivesItsSuccessorToTheDriver) {
  FakeUpstream upstream;
  const auto pool = make_allocator("smartpool", upstream);
  VirtualAddress loss = 0;
  for (int n = 0; n < 4; ++n) {
    iteration(*pool);
    const VirtualAddress next = pool->allocate({Bytes{kMiB}}).value();
    if (loss != 0) pool->free(loss);
    loss = next;
  }
  EXPECT_EQ(pool->reserved().value, 8 * kMiB);
}

// A request that the iteration does not have goes to the driver, and the pool goes once it is empty.
TEST(SmartPool, LeavesThePoolWithTheIteration) {
  FakeUpstream upstream;
  const auto pool = make_allocator("smartpool", upstream);
  for (int n = 0; n < 3; ++n) iteration(*pool);
  const VirtualAddress other = pool->allocate({Bytes{5 * kMiB}}).value();
  EXPECT_EQ(pool->reserved().value, 12 * kMiB);
  pool->free(other);
  EXPECT_EQ(pool->reserved().value, 0);
}

}  // namespace
}  // namespace uvmsim
