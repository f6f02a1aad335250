#include "machine/occupancy.h"

#include <gtest/gtest.h>

namespace uvmsim {
namespace {

// An SM of a V100.
GpuSpec v100() {
  GpuSpec gpu;
  gpu.max_threads_per_sm = 2048;
  gpu.max_ctas_per_sm = 32;
  return gpu;
}

TEST(ResidentCtas, AreAsManyAsThreadsAndCtasAllow) {
  EXPECT_EQ(resident_ctas(v100(), 256, 0), 8);
  EXPECT_EQ(resident_ctas(v100(), 1024, 0), 2);
  EXPECT_EQ(resident_ctas(v100(), 32, 0), 32);
}

// 40 registers of 32 threads are 1,280, of which a part of 16 Ki has 12: 48 warps of the 64 that threads allow. Nsight
// Compute says "Block Limit Registers 6" of Rodinia's hotspot (40 registers, 256 threads, V100; XPlacer).
TEST(ResidentCtas, AreAsManyAsRegistersAllow) {
  EXPECT_EQ(resident_ctas(v100(), 256, 32), 8);
  EXPECT_EQ(resident_ctas(v100(), 256, 40), 6);
}

// 65 registers take 2,304 of a part, not 2,080: 7 warps of each, 28 of the SM.
TEST(ResidentCtas, TakeRegistersInUnitsOf256) { EXPECT_EQ(resident_ctas(v100(), 128, 65), 7); }

// 255 registers of 1,024 threads are four times what an SM has: such a launch does not exist, and has one CTA.
TEST(ResidentCtas, AreOneAtLeast) { EXPECT_EQ(resident_ctas(v100(), 1024, 255), 1); }

}  // namespace
}  // namespace uvmsim
