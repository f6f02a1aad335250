#include <gtest/gtest.h>

#include "report/view.h"
#include "support/generate.h"

namespace uvmsim {
namespace {

std::vector<std::string> networks() {
  std::vector<std::string> names;
  for (const auto& [name, entry] : generators().entries())
    if (entry.make()->sort() == "training") names.push_back(name);
  return names;
}

class PeriodsContract : public testing::TestWithParam<std::string> {};

// Pinpointing the Memory Behaviors of DNN Training: training is a stable iterative pattern. It is found without the
// trace's marks, after a warm-up, and a period has as many kernels as the iterations that the trace marks.
TEST_P(PeriodsContract, TrainingIsIterative) {
  const trace::Trace trace = make_generator(GetParam(), R"({"batch": 2})")->generate(5);
  const ViewInput input(trace);
  const ViewTable table = run_view("periods", input);
  ASSERT_EQ(table.rows.size(), 1u) << table.finding;
  Duration kernels{};
  for (const GraphKernel& kernel : input.iterations[0].graph().kernels) kernels += kernel.duration;
  EXPECT_NEAR(std::get<double>(table.rows[0][6]), seconds(kernels), 1e-12) << table.finding;
}

INSTANTIATE_TEST_SUITE_P(All, PeriodsContract, testing::ValuesIn(networks()),
                         [](const auto& network) { return network.param; });

}  // namespace
}  // namespace uvmsim
