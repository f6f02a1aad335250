#include "base/user_error.h"

#include <gtest/gtest.h>

namespace uvmsim {
namespace {

// "h200" is two edits away, which would do where no name began so.
TEST(Nearest, PrefersNamesThatBeginWithTheWord) {
  EXPECT_EQ(nearest("v100", {"a100_40gb", "h200", "v100_pcie_x4_dual_root", "v100_sxm2_16gb", "v100_pcie_16gb"}),
            "v100_pcie_16gb");
}

TEST(Nearest, PrefersOneEditToALongerName) { EXPECT_EQ(nearest("vgg1", {"vgg16_bn", "vgg11"}), "vgg11"); }

TEST(Nearest, MayBeALongerNameOrAPart) {
  EXPECT_EQ(nearest("prefetch_threshold", {"threshold", "uvm_perf_prefetch_threshold"}), "uvm_perf_prefetch_threshold");
  EXPECT_EQ(nearest("batch_size", {"batch", "image", "size_of_vocabulary"}), "batch");
  EXPECT_EQ(nearest("num_gpus", {"gpu", "gpus", "host"}), "gpus");
}

TEST(Nearest, IsNothingWhenAllAreFar) { EXPECT_EQ(nearest("xyzzy", {"resnet50", "vgg16"}), ""); }

}  // namespace
}  // namespace uvmsim
