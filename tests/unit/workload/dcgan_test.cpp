// Two networks against each other: parameters and kernels of one iteration.
#include <algorithm>
#include <gtest/gtest.h>
#include <string>

#include "support/generate.h"
#include "support/trace_totals.h"

namespace uvmsim {
namespace {

using testing_support::parameters_of;

// pytorch/examples, dcgan: generator 4 * 4 * (100 * 512 + 512 * 256 + 256 * 128 + 128 * 64 + 64 * 3) and two per
// channel of four normalisations, discriminator 4 * 4 * (3 * 64 + 64 * 128 + 128 * 256 + 256 * 512 + 512) and two per
// channel of three. The discriminator judges three times per iteration, but is updated once, as the generator is: 4
// kernels of sgd for each of 5 + 8 and 5 + 6 parameters.
TEST(Dcgan, TrainsTwoNetworksInTurn) {
  const trace::Trace t = generate("dcgan", R"({"batch": 4, "optimizer": "sgd"})", 2);
  EXPECT_EQ(parameters_of(t), 3'576'704 + 2'765'568);
  const auto launched = [&](const std::string& prefix) {
    return std::ranges::count_if(records_of<trace::Kernel>(t), [&](const trace::Kernel& k) {
      return t.strings[static_cast<std::size_t>(k.name)].starts_with(prefix);
    });
  };
  EXPECT_EQ(launched("bce_fwd"), 2 * 3);
  EXPECT_EQ(launched("sgd_"), 2 * 4 * (5 + 8 + 5 + 6));
  EXPECT_EQ(launched("tanh"), 2 * 2);  // one generator pass, forward and back
}

}  // namespace
}  // namespace uvmsim
