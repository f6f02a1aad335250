// Convolutional models against an independent re-enactment of the same eager programs in Python, where CPython's
// reference counts say what lives. Three iterations; the last one is compared.
#include <gtest/gtest.h>
#include <string>

#include "support/generate.h"
#include "support/trace_totals.h"

namespace uvmsim {
namespace {

using testing_support::last_iteration_of;
using testing_support::TraceTotals;

struct Case {
  const char* model;
  const char* parameters;
  TraceTotals expected;
  std::int64_t updated_bytes;  // of the loss gradient, see below
};

// Bytes touched are those of the re-enactment plus the elements of the loss gradient once more: nll_loss's backward
// updates them here and writes them there (a sector of 32 B, or a row if that is less, per sample). For V-Net, which
// has 126 MB of them, that takes 279.62 us at half of 900 GB/s.
constexpr Case kCases[] = {
    {"densenet264",
     R"({"batch": 109, "dtype": "fp32"})",
     {6908, 2929, 2929, 774'039'379, 310'383'969'472, 30'779'524'612},
     109 * 32},
    {"densenet264",
     R"({"batch": 218, "dtype": "fp16"})",
     {6908, 2929, 2929, 685'637'322, 309'548'216'442, 30'756'903'442},
     218 * 32},
    {"densenet264",
     R"({"batch": 8, "torch": "2.x"})",
     {5316, 2799, 2799, 64'809'887, 24'476'347'696, 2'510'097'892},
     8 * 32},
    {"vnet",
     R"({"batch": 15, "dtype": "fp32"})",
     {1488, 561, 561, 4'559'603'883 + 279'620, 215'139'550'000, 27'114'567'348},
     15 * 128 * 128 * 64 * 8},
    {"vnet",
     R"({"batch": 30, "dtype": "fp16"})",
     {1488, 561, 561, 8'856'775'772 + 279'621, 214'388'047'958, 26'932'172'810},
     30 * 128 * 128 * 64 * 4},
    {"resnet50",
     R"({"batch": 32, "torch": "1.0"})",
     {1375, 558, 558, 113'116'348, 32'482'327'472, 3'081'769'444},
     32 * 32},
    {"resnet50",
     R"({"batch": 32, "optimizer": "adam"})",
     {1536, 703, 703, 113'812'198, 32'789'011'856, 3'089'965'444},
     32 * 32},
    {"resnet152",
     R"({"batch": 16, "torch": "1.0", "dtype": "fp16"})",
     {3993, 1612, 1612, 66'006'947, 18'280'496'218, 1'801'955'058},
     16 * 32},
};

TEST(Classifiers, SteadyIterationEqualsTheReference) {
  for (const Case& c : kCases) {
    TraceTotals expected = c.expected;
    expected.bytes_touched += c.updated_bytes;
    EXPECT_EQ(last_iteration_of(generate(c.model, c.parameters, 3)), expected) << c.model << " " << c.parameters;
  }
}

}  // namespace
}  // namespace uvmsim
