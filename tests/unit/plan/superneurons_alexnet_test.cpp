// SuperNeurons on its own AlexNet, batch 200. In MiB, of 200 images, a result of
//   conv0 221.56 (96 x 55 x 55)     pool0 53.39     conv1 142.38 (256 x 27 x 27)    pool1 33.01
//   conv2, conv3 49.51              conv4 33.01     pool4 7.03                      fc0, fc1 3.13      fc2 0.76
// A ReLU, a normalisation and a dropout make as much as they read. Weights and images count for nothing here, as in the
// paper.
#include <gmock/gmock.h>

#include "plan/plan_checker.h"
#include "support/conv_chain.h"
#include "support/generate.h"
#include "workload/edit.h"

namespace uvmsim::testing_support {
namespace {

Profile alexnet() {
  trace::Trace trace = generate("alexnet_2012", R"({"batch": 200})", 2);
  const auto counts = [](std::string_view kind, std::string_view) { return kind == "act" || kind == "grad"; };
  scale_tensors(trace, std::not_fn(counts), 1e-6);
  const BytesPerSecond rate{10'000'000'000};
  return profile_iterations(trace, DeviceOrdinal{0}, GpuIndex{0},
                            {.launch = {}, .links = {rate, rate, {}}, .budget = Bytes{12'000'000'000}})
      .back();
}

std::size_t kernels_again(const Plan& plan) {
  std::size_t kernels = 0;
  for (const Action& action : plan.actions)
    if (const auto* r = std::get_if<Recompute>(&action)) kernels += r->kernels.size();
  return kernels;
}

Plan planned(const Profile& profile, const std::string& recompute) {
  return PlannerUnderTest("superneurons").with("cache", false).with("recompute", recompute).plan(profile);
}

// Between two convolutions or products lie relu0, lrn0, pool0; relu1, lrn1, pool1; relu2; relu3; relu4, pool4; relu5,
// drop5; relu6, drop6: 14 results. Made for each kernel that needs them, a segment of three takes 3 + 2 + 1, one of two
// 2 + 1: 6 + 6 + 1 + 1 + 3 + 3 + 3. The largest kernel of the backward pass, that of lrn0, uses three times 221.56; the
// first segment holds 2 x 221.56 + 53.39 and the gradients of its pooling, 221.56 + 53.39: it is made anew, for 6
// instead of 3.
TEST(SuperneuronsAlexnet, MakesAgainWhatItsModesSay) {
  const Profile profile = alexnet();
  EXPECT_EQ(kernels_again(planned(profile, "none")), 0u);
  EXPECT_EQ(kernels_again(planned(profile, "speed")), 14u);
  EXPECT_EQ(kernels_again(planned(profile, "memory")), 23u);
  EXPECT_EQ(kernels_again(planned(profile, "cost_aware")), 17u);
}

// Without recomputation the peak is at the second pooling's backward pass, 1132.1 MiB by hand. With it, at lrn0's:
// conv0, relu0, lrn0 and the gradient, 4 x 221.56. For the pooling before, relu0 has left again when its gradient
// comes: conv0, lrn0, pool0 and both gradients, 3 x 221.56 + 2 x 53.39 = 771.5. The paper has 1132 and 886.
TEST(SuperneuronsAlexnet, PeaksAreThoseOfThePaper) {
  const Profile profile = alexnet();
  const auto peak = [&](const std::string& recompute) {
    return static_cast<double>(check_plan(*profile.graph, planned(profile, recompute), {}).peak) / (1 << 20);
  };
  EXPECT_NEAR(peak("none"), 1132.1, 1);
  EXPECT_NEAR(peak("cost_aware"), 886.2, 1);
}

}  // namespace
}  // namespace uvmsim::testing_support
