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

}  // namespace
}  // namespace uvmsim
