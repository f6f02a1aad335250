// What a plan may not say, each rule broken once.
#include "plan/plan_checker.h"

#include <gmock/gmock.h>

#include "workload/trace_builder.h"

namespace uvmsim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Sizes in units of 512 bytes: w 2 (held), x 4, y 8, z 16.
//   k0  w -> x         2 + 4           =  6
//   k1  x -> y         2 + 4 + 8       = 14
//   k2  y updated                      = 14
//   k3  y -> z         2 + 4 + 8 + 16  = 30
//   k4  x, z read; then z is freed     = 30
//   k5  y read                         = 14
//   k6  w updated from x               = 14
trace::Trace seven_kernels() {
  TraceBuilder t({});
  const auto w = t.allocate(Bytes{2 * 512}, TensorKind::Param);
  for (int i = 0; i < 2; ++i) {
    t.iteration(i);
    const auto x = t.allocate(Bytes{4 * 512}, TensorKind::Activation);
    t.kernel("k0", {.duration_ns = 1}, {reads(w), writes(x)});
    const auto y = t.allocate(Bytes{8 * 512}, TensorKind::Activation);
    t.kernel("k1", {.duration_ns = 1}, {reads(x), writes(y)});
    t.kernel("k2", {.duration_ns = 1}, {updates(y)});
    const auto z = t.allocate(Bytes{16 * 512}, TensorKind::Activation);
    t.kernel("k3", {.duration_ns = 1}, {reads(y), writes(z)});
    t.kernel("k4", {.duration_ns = 1}, {reads(x), reads(z)});
    t.free(z);
    t.kernel("k5", {.duration_ns = 1}, {reads(y)});
    t.kernel("k6", {.duration_ns = 1}, {updates(w), reads(x)});
    t.free(x);
    t.free(y);
  }
  return t.take();
}

constexpr TensorInterval kX14{1, 1, 4, 4 * 512};  // between k1 and k4
constexpr TensorInterval kX46{1, 4, 6, 4 * 512};
constexpr TensorInterval kY35{2, 3, 5, 8 * 512};

class PlanCheckerTest : public testing::Test {
 protected:
  PlanProof prove(std::vector<Action> actions, PlanLimits limits = {}) const {
    return check_plan(graph_, {.iteration = graph_.shape, .reclaim = reclaim_, .actions = std::move(actions)}, limits);
  }
  std::vector<std::string> errors(std::vector<Action> actions, PlanLimits limits = {}) const {
    std::vector<std::string> texts;
    for (const InputError& e : prove(std::move(actions), std::move(limits)).errors)
      texts.push_back(e.place + ": " + e.message);
    return texts;
  }

  const trace::Trace trace_ = seven_kernels();
  const IterationGraph graph_{trace_, DeviceOrdinal{0}, iterations_of(trace_, DeviceOrdinal{0}).back()};
  std::string reclaim_ = "none";
};

Move move(const TensorInterval& of) {
  return {.of = of, .out = {{Trigger::On::AfterKernel, of.last_use}}, .in = {{Trigger::On::BeforeKernel, of.next_use}}};
}

TEST_F(PlanCheckerTest, WithoutActionsThePeakIsTheIterations) {
  const PlanProof proof = prove({});
  EXPECT_THAT(proof.errors, IsEmpty());
  EXPECT_EQ(proof.peak, 30 * 512);
  EXPECT_THAT(proof.nodes, IsEmpty());
}

// x is away at k3: 30 - 4. At k4 it is back, with z still there: 30 again. With y away as well from k3 on, 22.
TEST_F(PlanCheckerTest, ThePeakIsWhatIsThereAtOnce) {
  EXPECT_EQ(prove({move(kX14)}).peak, 30 * 512);
  EXPECT_EQ(prove({move(kX14), move(kY35)}).peak, 26 * 512);
  EXPECT_EQ(prove({move(kX14), move(kY35)}).nodes.at(""), 12 * 512);
}

// y leaves after k4, when x is back. Where x's copy stays for its next way out, both count: 4 + 8. k6 only reads x, so
// it is there when the next iteration frees it, and not before.
TEST_F(PlanCheckerTest, ACopyThatIsKeptCountsUntilTheTensorIsFreed) {
  Move x = move(kX14), y = move(kY35);
  y.out.at = {Trigger::On::AfterKernel, 4};
  EXPECT_EQ(prove({x, y, move(kX46)}).nodes.at(""), 12 * 512);
  EXPECT_EQ(prove({x, y}).nodes.at(""), 8 * 512);
  x.keep = true;
  EXPECT_EQ(prove({x, y}).nodes.at(""), 12 * 512);
  EXPECT_THAT(errors({x, y}, {.nodes = {{"", 11 * 512}}}),
              ElementsAre(HasSubstr("with tensor 2 memory node  would hold 6.144 KB, 512 B more than it has")));
}

// y is back for k2, which updates it: its copy is given up before x leaves. 8 units, then 4.
TEST_F(PlanCheckerTest, ACopyThatIsKeptGoesWhenTheTensorIsWritten) {
  Move y = move({2, 1, 2, 8 * 512}), x = move(kX14);
  y.keep = true;
  x.out.at = {Trigger::On::AfterKernel, 2};
  EXPECT_EQ(prove({y, x}).nodes.at(""), 8 * 512);
}

TEST_F(PlanCheckerTest, IntervalsAreThoseOfTheIteration) {
  EXPECT_THAT(errors({move({1, 1, 5, 4 * 512})}),
              ElementsAre("gpu 0 /actions/0: tensor 1 is not idle from kernel 1 to kernel 5"));
  EXPECT_THAT(errors({move({1, 1, 4, 512})}), ElementsAre("gpu 0 /actions/0: tensor 1 holds 2048 bytes, not 512"));
  EXPECT_THAT(errors({move({9, 1, 4, 512})}), ElementsAre("gpu 0 /actions/0: the iteration has no tensor 9"));
  EXPECT_THAT(errors({move(kX14), Drop{kX14, {Trigger::On::AfterKernel, 1}}}),
              ElementsAre(HasSubstr("/actions/1: tensor 1 after kernel 1 is what /actions/0 is about")));
}

TEST_F(PlanCheckerTest, MomentsAreInsideTheInterval) {
  Move late = move(kX14);
  late.out.at = {Trigger::On::AfterKernel, 4};
  EXPECT_THAT(errors({late}), ElementsAre("gpu 0 /actions/0: the copy out starts outside the interval"));
  // k1 only reads x: the copy may run while it does.
  Move early = move(kX14);
  early.out.at = {Trigger::On::BeforeKernel, 1};
  EXPECT_THAT(errors({early}), IsEmpty());
  // k6 writes w.
  const Move of_w{.of = {0, 6, 0, 2 * 512}, .out = {{Trigger::On::BeforeKernel, 6}}};
  EXPECT_THAT(errors({of_w}), ElementsAre("gpu 0 /actions/0: the copy out starts outside the interval"));
}

TEST_F(PlanCheckerTest, AKernelNeedsItsContents) {
  EXPECT_THAT(errors({Drop{kX14, {Trigger::On::AfterKernel, 1}}}),
              ElementsAre("gpu 0 /actions/0: kernel 4 (k4) needs the contents of tensor 1, which are dropped"));
}

// k0 makes x from w. Its interval from k4 to k6 is in place, too: w changes only in k6.
TEST_F(PlanCheckerTest, ASegmentMakesWhatItClaims) {
  EXPECT_THAT(errors({Recompute{.before = 4, .kernels = {0}, .tensors = {kX14}},
                      Recompute{.before = 6, .kernels = {0}, .tensors = {kX46}}}),
              IsEmpty());
  EXPECT_THAT(errors({Recompute{.before = 4, .kernels = {3}, .tensors = {kX14}}}),
              ElementsAre(HasSubstr("kernel 4 (k4) needs the contents of tensor 1, which the segment does not make")));
}

// y is made by k1 and then updated by k2: half of that is not y.
TEST_F(PlanCheckerTest, ASegmentMakesItWhole) {
  EXPECT_THAT(errors({Recompute{.before = 5, .kernels = {1, 2}, .tensors = {kY35}}}), IsEmpty());
  EXPECT_THAT(errors({Recompute{.before = 5, .kernels = {1}, .tensors = {kY35}}}),
              ElementsAre(HasSubstr("which the segment does not make")));
  EXPECT_THAT(errors({Recompute{.before = 5, .kernels = {2}, .tensors = {kY35}}}),
              ElementsAre(HasSubstr("kernel 2 (k2) cannot run again: the contents of tensor 2 are dropped")));
}

// x is dropped from k1 to k4, y from k3 to k5. y's segment needs x: at k5 it is back, nested segments make it if not.
TEST_F(PlanCheckerTest, SegmentsMayNeedEachOther) {
  EXPECT_THAT(errors({Recompute{.before = 4, .kernels = {0}, .tensors = {kX14}},
                      Recompute{.before = 5, .kernels = {1, 2}, .tensors = {kY35}}}),
              IsEmpty());
  EXPECT_THAT(
      errors({Recompute{.before = 6, .kernels = {0}, .tensors = {kX46}},
              Recompute{.before = 5, .kernels = {1, 2}, .tensors = {kY35}}}),
      ElementsAre(HasSubstr("/actions/1: kernel 1 (k1) cannot run again: the contents of tensor 1 are dropped")));
  EXPECT_THAT(errors({Recompute{.before = 6, .kernels = {0}, .tensors = {kX46}},
                      Recompute{.before = 5, .kernels = {0, 1, 2}, .tensors = {kY35}}}),
              IsEmpty());
}

// y leaves with k4, for which a segment makes x; what makes y again for k5 has no tensors of its own: y's interval was
// not given up after its last use.
TEST_F(PlanCheckerTest, ASegmentMayDropWhatIsMadeAgainLater) {
  const Recompute x{.before = 4, .kernels = {0}, .tensors = {kX14}, .drop_again = {2}};
  EXPECT_THAT(errors({x}), ElementsAre(HasSubstr("kernel 5 (k5) needs the contents of tensor 2")));
  EXPECT_THAT(errors({x, Recompute{.before = 5, .kernels = {1, 2}}}), IsEmpty());
}

TEST_F(PlanCheckerTest, OnlyWhatHasRunCanRunAgain) {
  EXPECT_THAT(errors({Recompute{.before = 4, .kernels = {0, 5}, .tensors = {kX14}}}),
              ElementsAre(HasSubstr("kernel 5 (k5) cannot run again: it has not run yet")));
}

// k3's output z is freed by k5: it is borrowed for the segment. At k5: w 2, x 4, y 8 and z 16.
TEST_F(PlanCheckerTest, WhatIsFreedIsBorrowed) {
  const PlanProof proof = prove({Recompute{.before = 5, .kernels = {1, 2, 3}, .tensors = {kY35}}});
  EXPECT_THAT(proof.errors, IsEmpty());
  EXPECT_EQ(proof.peak, 30 * 512);
}

// b (1 unit) is made of a (1), which is freed, and made again for k3, which writes y (4): a is borrowed and given back
// before y is allocated. 1 + 1, then 1 + 4. A call between y's allocation and k3 would keep the segment behind it.
TEST(PlanChecker, ASegmentRunsBeforeTheAllocationsForItsKernel) {
  for (const bool between : {false, true}) {
    TraceBuilder t({});
    t.iteration(0);
    const auto a = t.allocate(Bytes{512}, TensorKind::Activation);
    t.kernel("k0", {.duration_ns = 1}, {writes(a)});
    const auto b = t.allocate(Bytes{512}, TensorKind::Activation);
    t.kernel("k1", {.duration_ns = 1}, {reads(a), writes(b)});
    t.free(a);
    t.kernel("k2", {.duration_ns = 1}, {});
    const auto y = t.allocate(Bytes{4 * 512}, TensorKind::Activation);
    if (between) t.host_step({});
    t.kernel("k3", {.duration_ns = 1}, {reads(b), writes(y)});
    t.free(b);
    t.free(y);
    const trace::Trace trace = t.take();
    const IterationGraph graph(trace, DeviceOrdinal{0}, iterations_of(trace, DeviceOrdinal{0}).back());
    EXPECT_EQ(graph.kernels[3].allocations, between ? 0 : 1);
    const Recompute again{.before = 3, .kernels = {0, 1}, .tensors = {{1, 1, 3, 512}}};
    const PlanProof proof = check_plan(graph, {.iteration = graph.shape, .reclaim = "none", .actions = {again}}, {});
    EXPECT_THAT(proof.errors, IsEmpty());
    EXPECT_EQ(proof.peak, (between ? 6 : 5) * 512);
  }
}

// a and b (1 unit each) are dropped after k1 and made again for k3, which reads b and writes y (4). a is not k3's: it
// leaves before y comes and is made anew for k4, after y is gone. 1 + 4 with k3.
TEST(PlanChecker, WhatTheKernelDoesNotUseLeavesBeforeTheAllocationsForIt) {
  TraceBuilder t({});
  t.iteration(0);
  const auto a = t.allocate(Bytes{512}, TensorKind::Activation);
  t.kernel("k0", {.duration_ns = 1}, {writes(a)});
  const auto b = t.allocate(Bytes{512}, TensorKind::Activation);
  t.kernel("k1", {.duration_ns = 1}, {reads(a), writes(b)});
  t.kernel("k2", {.duration_ns = 1}, {});
  const auto y = t.allocate(Bytes{4 * 512}, TensorKind::Activation);
  t.kernel("k3", {.duration_ns = 1}, {reads(b), writes(y)});
  t.free(y);
  t.kernel("k4", {.duration_ns = 1}, {reads(a)});
  t.free(a);
  t.free(b);
  const trace::Trace trace = t.take();
  const IterationGraph graph(trace, DeviceOrdinal{0}, iterations_of(trace, DeviceOrdinal{0}).back());
  Recompute both{.before = 3, .kernels = {0, 1}, .tensors = {{0, 1, 4, 512}, {1, 1, 3, 512}}};
  const auto peak = [&](std::vector<Action> actions) {
    const PlanProof proof =
        check_plan(graph, {.iteration = graph.shape, .reclaim = "none", .actions = std::move(actions)}, {});
    EXPECT_THAT(proof.errors, IsEmpty());
    return proof.peak;
  };
  EXPECT_EQ(peak({both}), 6 * 512);
  both.keep = Recompute::Keep::Use;
  EXPECT_EQ(peak({both, Recompute{.before = 4, .kernels = {0}}}), 5 * 512);
}

// c (4 units) is made of b (1), b of a (1); all are made again for k4, which reads c. a leaves once b is made, and b
// once c is: 1 + 4 at most. If they stayed for k5, there would be 6.
TEST(PlanChecker, WhatASegmentMakesOnTheWayLeavesAfterItsLastUseThere) {
  TraceBuilder t({});
  t.iteration(0);
  const auto a = t.allocate(Bytes{512}, TensorKind::Activation);
  t.kernel("k0", {.duration_ns = 1}, {writes(a)});
  const auto b = t.allocate(Bytes{512}, TensorKind::Activation);
  t.kernel("k1", {.duration_ns = 1}, {reads(a), writes(b)});
  const auto c = t.allocate(Bytes{4 * 512}, TensorKind::Activation);
  t.kernel("k2", {.duration_ns = 1}, {reads(b), writes(c)});
  t.kernel("k3", {.duration_ns = 1}, {});
  t.kernel("k4", {.duration_ns = 1}, {reads(c)});
  t.free(c);
  t.kernel("k5", {.duration_ns = 1}, {reads(a), reads(b)});
  t.free(a);
  t.free(b);
  const trace::Trace trace = t.take();
  const IterationGraph graph(trace, DeviceOrdinal{0}, iterations_of(trace, DeviceOrdinal{0}).back());
  Recompute all{.before = 4, .kernels = {0, 1, 2}, .tensors = {{0, 1, 5, 512}, {1, 2, 5, 512}, {2, 2, 4, 4 * 512}}};
  const auto peak = [&](std::vector<Action> actions) {
    const PlanProof proof =
        check_plan(graph, {.iteration = graph.shape, .reclaim = "none", .actions = std::move(actions)}, {});
    EXPECT_THAT(proof.errors, IsEmpty());
    return proof.peak;
  };
  EXPECT_EQ(peak({all}), 6 * 512);
  all.keep = Recompute::Keep::Use;
  EXPECT_EQ(peak({all, Recompute{.before = 5, .kernels = {0, 1}}}), 5 * 512);
}

TEST_F(PlanCheckerTest, EveryByteCountsWhereNothingIsReclaimed) {
  EXPECT_THAT(errors({}, {.device = 30 * 512}), IsEmpty());
  EXPECT_THAT(errors({}, {.device = 29 * 512}),
              ElementsAre("gpu 0: with tensor 3 the GPU holds 15.36 KB, 512 B more than it has"));
  EXPECT_THAT(errors({move(kX14), move(kY35)}, {.device = 26 * 512}), IsEmpty());
}

// k3 needs y and z at once, 24 units: all else can leave.
TEST_F(PlanCheckerTest, OneKernelsOperandsCountWhereTheRestCanLeave) {
  reclaim_ = "lms";
  EXPECT_THAT(errors({}, {.device = 24 * 512}), IsEmpty());
  EXPECT_THAT(
      errors({}, {.device = 23 * 512}),
      ElementsAre("gpu 0: kernel 3 (k3) needs 12.29 KB, 512 B more than the GPU has, at once: no plan can run it"));
}

TEST_F(PlanCheckerTest, MemoryNodesHaveTheirCapacity) {
  const PlanLimits limits{.nodes = {{"memory0", 8 * 512}, {"ssd0", 4 * 512}}, .nearest = "memory0"};
  EXPECT_THAT(errors({move(kX14)}, limits), IsEmpty());
  EXPECT_THAT(
      errors({move(kX14), move(kY35)}, limits),
      ElementsAre(
          "gpu 0 /actions/1: with tensor 2 memory node memory0 would hold 6.144 KB, 2.048 KB more than it has"));
  Move elsewhere = move(kX14);
  elsewhere.to = "ssd0";
  EXPECT_THAT(errors({elsewhere, move(kY35)}, limits), IsEmpty());
  elsewhere.to = "ssd1";
  EXPECT_THAT(errors({elsewhere}, limits), ElementsAre(HasSubstr("no memory node \"ssd1\"; did you mean \"ssd0\"?")));
}

// zvc of 4 units with half of them zero: 1/32 + 1/2 of 2048 bytes.
TEST_F(PlanCheckerTest, CodecsMakeWhatTravelsSmaller) {
  Move encoded = move(kX14);
  encoded.codec = "zvc";
  encoded.sparsity = 0.5;
  EXPECT_EQ(prove({encoded}).nodes.at(""), 64 + 1024);
  encoded.codec = "zvcc";
  EXPECT_THAT(errors({encoded}), ElementsAre(HasSubstr("did you mean \"zvc\"?")));
}

// By kernels half of x's 4 units travel, and lie on the GPU beside x, which k4 needs with w, y and z: 32.
TEST_F(PlanCheckerTest, WhatKernelsDecodeIsThereTwice) {
  Move encoded = move(kX14);
  encoded.codec = "dpr_fp16";
  const PlanProof proof = prove({encoded});
  EXPECT_THAT(proof.errors, IsEmpty());
  EXPECT_EQ(proof.nodes.at(""), 2 * 512);
  EXPECT_EQ(proof.peak, 32 * 512);
  EXPECT_THAT(errors({encoded}, {.device = 31 * 512}),
              ElementsAre(HasSubstr("with tensor 1, encoded the GPU holds 16.38 KB")));
}

// v (4 units, held) is used by k1 alone and moves out after it, into the next iteration. At k0, which makes and frees 8
// units, the first iteration still holds it, with u (1 unit) 13 units; the later ones have 9 there.
TEST(PlanChecker, WhatReachesIntoTheNextIterationIsStillThereInTheFirst) {
  TraceBuilder t({});
  const auto v = t.allocate(Bytes{4 * 512}, TensorKind::Param);
  const auto u = t.allocate(Bytes{512}, TensorKind::Param);
  t.iteration(0);
  const auto x = t.allocate(Bytes{8 * 512}, TensorKind::Activation);
  t.kernel("k0", {.duration_ns = 1}, {writes(x)});
  t.free(x);
  t.kernel("k1", {.duration_ns = 1}, {reads(v)});
  t.kernel("k2", {.duration_ns = 1}, {reads(u)});
  const trace::Trace trace = t.take();
  const IterationGraph graph(trace, DeviceOrdinal{0}, iterations_of(trace, DeviceOrdinal{0}).back());
  const Move away{.of = {0, 1, 1, 4 * 512}, .out = {{Trigger::On::AfterKernel, 1}}};
  const PlanProof proof = check_plan(graph, {.iteration = graph.shape, .reclaim = "none", .actions = {away}}, {});
  EXPECT_THAT(proof.errors, IsEmpty());
  EXPECT_EQ(proof.peak, (4 + 1 + 8) * 512);
  EXPECT_EQ(proof.later_peak, (1 + 8) * 512);
}

// The CPU updates w from x: both must be in host memory when it begins.
TEST_F(PlanCheckerTest, TheHostComputesOnWhatIsThere) {
  const HostCompute compute{.kernels = {6}, .at = {Trigger::On::AfterKernel, 5}};
  EXPECT_THAT(errors({compute}), ElementsAre(HasSubstr("needs tensor 0, which no move has brought to host memory"),
                                             HasSubstr("needs tensor 1, which no move has brought to host memory")));
  const Move w{.of = {0, 0, 6, 2 * 512}, .out = {{Trigger::On::AfterKernel, 0}}};
  const Move x{.of = kX46, .out = {{Trigger::On::AfterKernel, 4}}};
  EXPECT_THAT(errors({w, x, compute}), IsEmpty());
}

// z is made for k3 and k4 alone: without it at most 14 are held.
TEST_F(PlanCheckerTest, WhatOnlyTheHostUsesIsNeverOnTheGpu) {
  const Move x{.of = kX14, .out = {{Trigger::On::AfterKernel, 1}}};
  const Move y{.of = {2, 2, 3, 8 * 512}, .out = {{Trigger::On::AfterKernel, 2}}};
  const HostCompute compute{.kernels = {3, 4}, .at = {Trigger::On::BeforeKernel, 3}};
  const PlanProof proof = prove({x, y, compute});
  EXPECT_THAT(proof.errors, IsEmpty());
  EXPECT_EQ(proof.peak, 14 * 512);
}

// k1 in 2 units of workspace: 14 + 2; k3, the largest, with 5: 30 + 5.
TEST_F(PlanCheckerTest, WorkspacesCountWhileTheirKernelsRun) {
  IterationGraph graph = graph_;
  graph.variants = {{{.duration_ns = 1, .workspace = 2 * 512}, {.duration_ns = 2, .workspace = 5 * 512 - 1}}};
  graph.kernels[1].variants = graph.kernels[3].variants = 0;
  const auto prove = [&](std::vector<KernelVariant> variants) {
    return check_plan(graph, {.iteration = graph.shape, .reclaim = "none", .variants = std::move(variants)}, {});
  };
  EXPECT_EQ(prove({{1, 0}}).peak, 30 * 512);
  EXPECT_EQ(prove({{3, 1}, {1, 1}}).peak, 35 * 512);
  EXPECT_THAT(prove({{2, 0}, {3, 2}, {3, 0}, {7, 0}}).errors, testing::SizeIs(4));
}

TEST_F(PlanCheckerTest, AllErrorsAreFoundAtOnce) {
  reclaim_ = "lsm";
  EXPECT_THAT(errors({move({1, 1, 5, 4 * 512}), move({2, 3, 5, 1})}),
              ElementsAre(HasSubstr("did you mean \"lms\"?"), HasSubstr("/actions/0"), HasSubstr("/actions/1")));
}

}  // namespace
}  // namespace uvmsim
