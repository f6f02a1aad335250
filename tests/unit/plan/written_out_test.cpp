// On the chain of support/conv_chain.h, in which each kernel takes 1 ms, as does a copy of one map.
#include "plan/written_out.h"

#include <gmock/gmock.h>

#include "base/user_error.h"
#include "plan/plan_checker.h"
#include "support/conv_chain.h"
#include "support/generate.h"
#include "trace/checker.h"
#include "workload/transform.h"

namespace uvmsim::testing_support {
namespace {

trace::Trace by(const std::string& transform, const trace::Trace& trace) {
  return transforms().find(transform)->make()->apply(trace);
}

// Held at each kernel of the last iteration, at most.
std::int64_t peak_of(const trace::Trace& trace) { return shapes_of(trace, DeviceOrdinal{0}).back().graph->peak(); }

// Maps 0 .. 3 go during kernels 1 .. 4 and come back before kernels 9 .. 6: four copies each way. In the plan's own
// account the chain peaks at three maps and the gradient, and so it does where the program frees and allocates them.
TEST(WrittenOut, VdnnCopiesWhatItsPlannerMoves) {
  const trace::Trace program = by("vdnn", conv_chain());
  EXPECT_TRUE(check_trace(program).empty());
  std::map<trace::CopyDirection, int> copies;
  for (const trace::Copy& copy : records_of<trace::Copy>(program)) {
    EXPECT_EQ(copy.bytes, kMap);
    ++copies[copy.direction];
  }
  EXPECT_EQ(copies, (std::map<trace::CopyDirection, int>{{trace::CopyDirection::HostToDevice, 4},
                                                         {trace::CopyDirection::DeviceToHost, 4}}));
  EXPECT_EQ(records_of<trace::Kernel>(program).size(), records_of<trace::Kernel>(conv_chain()).size());

  const Profile profile = conv_chain_profile(3);
  const Plan plan = PlannerUnderTest("vdnn").with("mode", "conv").plan(profile);
  EXPECT_EQ(peak_of(program), check_plan(*profile.graph, plan, {}).peak);
}

TEST(WrittenOut, RefusesWhatHasNothingToOffload) {
  EXPECT_THAT([] { by("vdnn", conv_chain(false)); },
              testing::ThrowsMessage<UserError>(testing::HasSubstr("vdnn selects nothing")));
  EXPECT_THAT([] { by("gist", generate("vector_add", "{}", 1)); },
              testing::ThrowsMessage<UserError>(testing::HasSubstr("gist selects nothing")));
}

// As many kernels that encode as the plan says, each with one that decodes, and the peak that the checker finds. The
// last iteration of AlexNet has the same shape as those before but the first.
TEST(WrittenOut, GistEncodesWhatItsPlannerDoes) {
  const trace::Trace before = generate("alexnet", R"({"batch": 64})", 2);
  const trace::Trace program = by("gist", before);
  EXPECT_TRUE(check_trace(program).empty());
  const ShapeOfIteration shape = shapes_of(before, DeviceOrdinal{0}).back();
  const Profile profile = profile_of(shape, GpuIndex{0}, {.budget = Bytes{std::int64_t{1} << 40}});
  const Plan plan = PlannerUnderTest("gist_like").plan(profile);

  const std::size_t added = records_of<trace::Kernel>(program).size() - records_of<trace::Kernel>(before).size();
  EXPECT_EQ(added, 2 * 2 * plan.actions.size());  // in each of two iterations
  const std::int64_t peak = check_plan(*profile.graph, plan, {}).peak;
  EXPECT_LT(peak, profile.peak());
  EXPECT_NEAR(static_cast<double>(peak_of(program)), static_cast<double>(peak), 0.01 * static_cast<double>(peak));
}

}  // namespace
}  // namespace uvmsim::testing_support
