// Eight layers of 64 MiB of activations and 1 MiB of weights: kernels 0 .. 7 forward, 10 ms each, 8 .. 15 backward, 20
// ms each; the activation of layer l is tensor 8 + l, used by kernels l, l + 1, 14 - l and 15 - l. At most 8 x 64 + 8
// MiB are held, by kernels 7, 8 and 9.
#include <gmock/gmock.h>

#include "support/layer_chain.h"
#include "support/sizes.h"

namespace uvmsim {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

// Sixteen layers of one kernel each. With double buffers alone, a layer of the backward pass has three activations and
// the one just freed, 4 x 64 MiB. 0.95 x 360 = 342 MiB have room for one more and for all weights: pinned are the
// activations of layers 5, 4 and 3, which are away for the shortest time, and at most one of which such a layer does
// not have.
TEST(GeePs, PinsWhatTheDoubleBuffersLeaveRoomFor) {
  const Profile large = LayerChain{}.profile(kPlenty);
  EXPECT_THAT(plan_by(*planner_named("geeps"), large).actions, IsEmpty());
  const Profile small = LayerChain{}.profile(360 * kMiB);
  const Plan plan = plan_by(*planner_named("geeps"), small);
  EXPECT_TRUE(plan.feasible);
  EXPECT_THAT(actions_of<Move>(plan), SizeIs(3));
  for (const Move& m : actions_of<Move>(plan)) {
    EXPECT_LE(m.of.tensor, 8 + 2);
    EXPECT_EQ(m.out.at, (Trigger{Trigger::On::AfterKernel, m.of.last_use}));
    EXPECT_EQ(m.in.at, (Trigger{Trigger::On::BeforeKernel, m.of.next_use - 1}));
  }
  expect_proved(small, plan);
}

}  // namespace
}  // namespace uvmsim
