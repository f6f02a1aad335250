// What the gates let through.
#include "uvm/gate/prefetch_gate.h"

#include <gtest/gtest.h>

namespace uvmsim {
namespace {

TEST(OracleGate, DropsWhatIsThereAndCostsNothing) {
  const auto gate = prefetch_gates().find("oracle")->make();
  EXPECT_TRUE(gate->foresees());
  EXPECT_TRUE(gate->calls(0));
  EXPECT_TRUE(gate->executes(0, true));
  EXPECT_FALSE(gate->executes(0, false));
}

// One iteration of a kernel with two prefetches before it; returns whether they were made.
bool iterate(PrefetchGate& gate, std::int64_t kernel, bool missing, std::int64_t fault_batches) {
  const bool made = gate.calls(kernel);
  EXPECT_EQ(gate.calls(kernel), made);  // one decision for both
  if (made) {
    EXPECT_TRUE(gate.executes(kernel, missing));
    EXPECT_TRUE(gate.executes(kernel, false));
  }
  gate.kernel_done(kernel, fault_batches);
  return made;
}

TEST(AdaptiveGate, StopsWhereNothingWasMissingUntilTheKernelFaults) {
  const auto gate = prefetch_gates().find("adaptive")->make();
  EXPECT_FALSE(gate->foresees());
  EXPECT_TRUE(iterate(*gate, 7, true, 0));   // the first time: always; it moves something
  EXPECT_TRUE(iterate(*gate, 7, false, 0));  // so again; now there is nothing to move
  EXPECT_FALSE(iterate(*gate, 7, true, 0));  // left out; the kernel does not fault
  EXPECT_FALSE(iterate(*gate, 7, true, 3));  // left out; it faults
  EXPECT_TRUE(iterate(*gate, 7, true, 0));   // so it is back
  EXPECT_TRUE(iterate(*gate, 3, false, 0));  // another kernel has its own memory
}

}  // namespace
}  // namespace uvmsim
