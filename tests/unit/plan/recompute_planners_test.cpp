// Planners that make tensors again, on a chain of five results of 1 MiB each. Tensors: w 0 (512 B, held), a 1, b 2,
// c 3, d 4, e 5; kernels and their times:
//   0  conv_a  w -> a     5 ms        5  bwd_e  e, d              1 ms   then e is freed
//   1  relu_b  a -> b     1 ms        6  bwd_d  d, c              1 ms   then d
//   2  pool_c  b -> c     2 ms        7  bwd_c  c, b              1 ms   then c
//   3  norm_d  c -> d     3 ms        8  bwd_b  b, a              1 ms   then b
//   4  conv_e  w, d -> e  5 ms        9  bwd_a  a, w updated      1 ms   then a
// A kernel is prepared before what the one before it frees is free, so the load is, in MiB:
//   kernel   0  1  2  3  4  5  6  7  8  9
//   load     1  2  3  4  5  5  5  4  3  2
// Between its uses idle are a (from kernel 1 to 8), b (2, 7), c (3, 6); d (4, 5) is not.
#include <gmock/gmock.h>
#include <set>

#include "plan/lineage.h"
#include "plan/plan_checker.h"
#include "plan/recomputation.h"
#include "support/conv_chain.h"

namespace uvmsim::testing_support {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr std::int32_t kA = 1, kB = 2, kC = 3;

Duration milliseconds(std::int64_t n) { return nanoseconds(1'000'000 * n); }

// `relu`: what relu_b is called. `scratch`: MiB that conv_e works in and frees, tensor 6: the load is higher by so much
// at kernels 4 and 5.
trace::Trace five_results(const std::string& relu, std::int64_t scratch) {
  TraceBuilder t({});
  const trace::TensorId w = t.allocate(Bytes{512}, TensorKind::Param);
  t.iteration(0);
  std::vector<trace::TensorId> made;
  const auto forward = [&](const std::string& name, std::int64_t ms, bool weight) {
    std::vector<trace::Access> operands;
    if (weight) operands.push_back(reads(w));
    if (!made.empty()) operands.push_back(reads(made.back()));
    made.push_back(t.allocate(Bytes{1 << 20}, TensorKind::Activation));
    operands.push_back(writes(made.back()));
    t.layer(t.string(name));
    const bool works = name == "conv_e" && scratch > 0;
    const trace::TensorId in = works ? t.allocate(Bytes{scratch << 20}, TensorKind::Workspace) : 0;
    if (works) operands.push_back(writes(in));
    t.kernel(name, {.duration_ns = ms * 1'000'000}, operands);
    if (works) t.free(in);
  };
  t.phase("forward");
  forward("conv_a", 5, true);
  forward(relu, 1, false);
  forward("pool_c", 2, false);
  forward("norm_fwd_d", 3, false);
  forward("conv_e", 5, true);
  t.phase("backward");
  const std::vector<std::string> names = {"conv_a_bwd", "relu_b_bwd", "pool_c_bwd", "norm_bwd_d", "conv_e_bwd"};
  for (std::size_t l = 5; l-- > 0;) {
    t.layer(t.string(names[l]));
    std::vector<trace::Access> operands = {reads(made[l])};
    operands.push_back(l > 0 ? reads(made[l - 1]) : updates(w));
    t.kernel(names[l], {.duration_ns = 1'000'000}, operands);
    t.free(made[l]);
  }
  return t.take();
}

// A copy of 1 MiB takes 4 ms. With room for `mib` and the weight.
Profile profile_with_room(double mib, const std::string& relu = "relu_b", std::int64_t scratch = 0) {
  const BytesPerSecond rate{(1 << 20) * 250};
  return profile_iterations(five_results(relu, scratch), DeviceOrdinal{0}, GpuIndex{0},
                            {.launch = {},
                             .links = {rate, rate, {}},
                             .budget = Bytes{static_cast<std::int64_t>(mib * (1 << 20)) + 512}})
      .back();
}

// By the kernels before which they run.
std::vector<Recompute> segments(const Plan& plan) {
  std::vector<Recompute> found;
  for (const Action& action : plan.actions)
    if (const auto* r = std::get_if<Recompute>(&action)) found.push_back(*r);
  std::ranges::sort(found, {}, &Recompute::before);
  return found;
}
std::vector<std::int32_t> tensors(const Recompute& r) {
  std::vector<std::int32_t> found;
  for (const TensorInterval& i : r.tensors) found.push_back(i.tensor);
  return found;
}
PlanProof proof(const Profile& profile, const Plan& plan) {
  return check_plan(*profile.graph, plan, {.device = profile.budget.value});
}

// --- lineage

TEST(Lineage, SaysWhichKernelsMakeATensorOfWhat) {
  const Profile profile = profile_with_room(5);
  const Lineage lineage(*profile.graph);
  EXPECT_EQ(lineage.backward(), 5);
  EXPECT_THAT(lineage.of(kC).kernels, ElementsAre(2));
  EXPECT_THAT(lineage.of(kC).inputs, ElementsAre(kB));
  EXPECT_EQ(lineage.of(kC).time, milliseconds(2));
  // conv_a reads w, which kernel 9 changes; so does all that is made of a.
  EXPECT_EQ(lineage.of(kA).until, 9);
  EXPECT_EQ(lineage.of(kC).until, 9);
  EXPECT_THAT(lineage.of(0).kernels, IsEmpty());
  EXPECT_EQ(recomputable(profile, lineage, Bytes{1}).size(), 3u);
}

// c needs b and b needs a, as far as they are away.
TEST(Lineage, GoesBackToWhatIsThere) {
  const Profile profile = profile_with_room(5);
  const Lineage lineage(*profile.graph);
  const auto away = [](std::initializer_list<std::int32_t> list) {
    return [gone = std::set<std::int32_t>(list)](std::int32_t t) { return gone.contains(t); };
  };
  const std::vector<std::int32_t> c = {kC};
  EXPECT_THAT(lineage.kernels_for(c, 6, away({kC})), ElementsAre(2));
  EXPECT_THAT(lineage.kernels_for(c, 6, away({kB, kC})), ElementsAre(1, 2));
  EXPECT_THAT(lineage.kernels_for(c, 6, away({kA, kB, kC})), ElementsAre(0, 1, 2));
}

// bernoulli_ draws other numbers when it runs again: neither its result nor what is made of it can be made again from
// before it; dropout keeps its seed.
TEST(Lineage, WhatDrawsRandomNumbersIsNotMadeAgain) {
  const Profile drawn = profile_with_room(5, "bernoulli_kernel"), dropout = profile_with_room(5, "fused_dropout");
  EXPECT_THAT(Lineage(*drawn.graph).of(kB).kernels, IsEmpty());
  EXPECT_THAT(Lineage(*dropout.graph).of(kB).kernels, ElementsAre(1));
  Plan plan = empty_plan(drawn, "test");
  plan.actions = {Recompute{.before = 7, .kernels = {1}, .tensors = {{kB, 2, 7, 1 << 20}}}};
  const PlanProof refused = proof(drawn, plan);
  ASSERT_EQ(refused.errors.size(), 1u);
  EXPECT_EQ(refused.errors[0].message,
            "kernel 1 (bernoulli_kernel) cannot run again: it draws random numbers, and only dropout keeps the seed "
            "that it drew with");
}

// --- segments

// c, b and a are away. Kernel 6 needs c, for which a and b are made, too. If they stay, nothing else is made.
TEST(Recomputation, OneSegmentMakesAllIfItStays) {
  const Profile profile = profile_with_room(5);
  const Lineage lineage(*profile.graph);
  const std::vector<std::size_t> all = recomputable(profile, lineage, Bytes{1});
  const Recomputation r = recompute_on_demand(profile, lineage, all, [](std::int32_t, std::int32_t) { return false; });
  ASSERT_EQ(r.segments().size(), 1u);
  EXPECT_EQ(r.segments()[0].before, 6);
  EXPECT_THAT(r.segments()[0].kernels, ElementsAre(0, 1, 2));
  EXPECT_THAT(tensors(r.segments()[0]), UnorderedElementsAre(kA, kB, kC));
  EXPECT_EQ(r.time(), milliseconds(8));
}

// If they leave, kernels 0 and 1 run again for kernel 7, which needs b, and kernel 0 for kernel 8: 8 + 6 + 5 ms. At
// kernel 6 there are e's 1 MiB, just freed, d, and a, b, c: 5 MiB; without them at kernel 7 c, a and b: 3 MiB, with d
// just freed.
TEST(Recomputation, WhatLeavesIsMadeForEachKernelAnew) {
  const Profile profile = profile_with_room(5);
  const Lineage lineage(*profile.graph);
  const std::vector<std::size_t> all = recomputable(profile, lineage, Bytes{1});
  const Recomputation r = recompute_on_demand(profile, lineage, all, [](std::int32_t, std::int32_t) { return true; });
  ASSERT_EQ(r.segments().size(), 3u);
  EXPECT_THAT(r.segments()[0].drop_again, UnorderedElementsAre(kA, kB));
  EXPECT_THAT(r.segments()[1].kernels, ElementsAre(0, 1));
  EXPECT_THAT(r.segments()[1].tensors, IsEmpty());
  EXPECT_THAT(r.segments()[1].drop_again, ElementsAre(kA));
  EXPECT_THAT(r.segments()[2].kernels, ElementsAre(0));
  EXPECT_EQ(r.time(), milliseconds(19));
  Plan plan = empty_plan(profile, "test");
  add_segments(r, plan);
  EXPECT_THAT(proof(profile, plan).errors, IsEmpty());
}

// --- SuperNeurons

// Between the convolutions lie b, c and d; of these b and c are idle. What a layer of the backward pass uses is 2 MiB,
// as much as the two hold: they are made once. a is the result of a convolution: it stays, for without b and c 3 MiB
// are enough until kernel 6, at which they are back: d, c, b, a, and e just freed.
TEST(Superneurons, DropsCheapResultsBetweenConvolutions) {
  const Profile profile = profile_with_room(4);
  const Plan plan = PlannerUnderTest("superneurons").plan(profile);
  const std::vector<Recompute> again = segments(plan);
  ASSERT_EQ(again.size(), 1u) << plan.why;
  EXPECT_THAT(again[0].kernels, ElementsAre(1, 2));
  EXPECT_THAT(tensors(again[0]), UnorderedElementsAre(kB, kC));
  EXPECT_TRUE(plan.feasible) << plan.why;
  EXPECT_LE(proof(profile, plan).peak, profile.budget.value);
}

TEST(Superneurons, MemoryCentricMakesASegmentForEachKernel) {
  const Plan plan = PlannerUnderTest("superneurons").with("recompute", "memory").plan(profile_with_room(4));
  const std::vector<Recompute> again = segments(plan);
  ASSERT_EQ(again.size(), 2u) << plan.why;
  EXPECT_THAT(again[0].drop_again, ElementsAre(kB));
  EXPECT_THAT(again[1].kernels, ElementsAre(1));
}

TEST(Superneurons, TheCacheMovesNothingThatFits) {
  EXPECT_THAT(PlannerUnderTest("superneurons").plan(profile_with_room(6)).actions, IsEmpty());
  const Plan always =
      PlannerUnderTest("superneurons").with("cache", false).with("recompute", "none").plan(profile_with_room(6));
  ASSERT_EQ(always.actions.size(), 1u);  // a, back at the convolution behind it: kernel 5
  EXPECT_EQ(move_of(always, 0)->in.at, before(5));
}

// --- Capuchin

// Free time, in ms: a is idle from the end of kernel 1 (6) to the start of kernel 8 (19), less 8 ms for its copies: 5;
// b from 8 to 18: 2; c from 11 to 17: -2. The peak is at kernels 4 to 6, at which all three are idle, but for c at 6.
TEST(Capuchin, SwapsWhatHasTheLongestFreeTime) {
  const Profile profile = profile_with_room(4);
  const Plan plan = PlannerUnderTest("capuchin").plan(profile);
  ASSERT_EQ(plan.actions.size(), 1u) << plan.why;
  // Its copy takes 4 ms, from 15 to 19: kernel 4 runs from 11 to 16, at which there is no room; there is at kernel 7.
  EXPECT_EQ(move_of(plan, 0)->of.last_use, 1);
  EXPECT_EQ(move_of(plan, 0)->in.at, before(7));
  EXPECT_TRUE(plan.feasible) << plan.why;
}

// b saves 1 MiB for 1 ms, c for 2 ms and a for 5 ms; one of them is enough.
TEST(Capuchin, RecomputesByMemorySavedPerSecond) {
  const Profile profile = profile_with_room(4);
  const Plan plan = PlannerUnderTest("capuchin").with("actions", "recompute").plan(profile);
  const std::vector<Recompute> again = segments(plan);
  ASSERT_EQ(again.size(), 1u) << plan.why;
  EXPECT_THAT(again[0].kernels, ElementsAre(1));
  EXPECT_THAT(tensors(again[0]), ElementsAre(kB));
}

// With 3 MiB of scratch 8 MiB are needed at kernels 4 and 5, and with room for six two of a, b and c have to go. b
// saves most memory per second: 1 MiB for 1 ms. Then c begins with a, too, and takes 3 ms; and to make a again takes 5
// ms and 5 more for b, which begins with it: c goes. For kernel 6 both are made; b stays, or is dropped again and made
// anew.
TEST(Capuchin, WhatBeginsWithADroppedTensorTakesLonger) {
  const Profile profile = profile_with_room(6, "relu_b", 3);
  const Plan together = PlannerUnderTest("capuchin").with("actions", "recompute").plan(profile);
  EXPECT_TRUE(together.feasible) << together.why;
  ASSERT_EQ(segments(together).size(), 1u);
  EXPECT_THAT(segments(together)[0].kernels, ElementsAre(1, 2));
  EXPECT_THAT(tensors(segments(together)[0]), UnorderedElementsAre(kB, kC));
  const Plan apart = PlannerUnderTest("capuchin").with("actions", "recompute").with("collective", false).plan(profile);
  ASSERT_EQ(segments(apart).size(), 2u);
  EXPECT_THAT(segments(apart)[0].drop_again, ElementsAre(kB));
  EXPECT_THAT(segments(apart)[1].kernels, ElementsAre(1));
}

// On the chain of support/conv_chain.h, with room for five maps, map 0 is away. Its copy takes 1 ms, as a kernel does,
// and starts with kernel 9. When it was late it starts a kernel earlier, though 5 % of 1 ms are less: there are four
// maps at kernel 8, so there is room. One that was not late stays, and so does one for which there is no room.
TEST(Capuchin, StartsLateCopiesEarlierNextTime) {
  const auto capuchin = planners().find("capuchin")->make();
  NoServices services;
  const auto revised = [&](const Profile& profile, std::int64_t late) {
    const std::vector<Plan> plans = capuchin->plan({&profile, 1}, services);
    const Observed seen{.actions = {std::vector(plans[0].actions.size(), ActionCost{.lateness = milliseconds(late)})}};
    return capuchin->revise({&profile, 1}, plans, seen, services);
  };
  const Profile five = conv_chain_profile(5);
  EXPECT_EQ(move_of(PlannerUnderTest("capuchin").plan(five), 0)->in.at, before(9));
  EXPECT_THAT(revised(five, -1), IsEmpty());
  ASSERT_EQ(revised(five, 1).size(), 1u);
  EXPECT_EQ(move_of(revised(five, 1)[0], 0)->in.at, before(8));
  EXPECT_THAT(revised(profile_with_room(4), 1), IsEmpty());
}

// --- DTR

// At kernel 4 one MiB is short. Staleness: a 5 ms (kernel 1 ended at 6, kernel 4 starts at 11), b 3 ms; c was just used
// by kernel 3. Time by staleness: a 5 / 5, b 1 / 3, c 2 / 0: b goes, and is made of a for kernel 7.
TEST(Dtr, EvictsWhatIsCheapAndStale) {
  for (const char* heuristic : {"dtr", "dtr_eq", "dtr_local", "msps"}) {
    const Profile profile = profile_with_room(4);
    const Plan plan = PlannerUnderTest("dtr").with("heuristic", heuristic).plan(profile);
    const std::vector<Recompute> again = segments(plan);
    ASSERT_EQ(again.size(), 1u) << heuristic << ": " << plan.why;
    EXPECT_EQ(again[0].before, 7) << heuristic;
    EXPECT_THAT(again[0].kernels, ElementsAre(1)) << heuristic;
    EXPECT_TRUE(plan.feasible) << plan.why;
  }
}

TEST(Dtr, LruEvictsTheOldest) {
  const Plan plan = PlannerUnderTest("dtr").with("heuristic", "lru").plan(profile_with_room(4));
  const std::vector<Recompute> again = segments(plan);
  ASSERT_EQ(again.size(), 1u) << plan.why;
  EXPECT_THAT(again[0].kernels, ElementsAre(0));
}

// --- Checkmate, without a solver

TEST(Checkmate, KeepsEqualDistancesWithoutASolver) {
  const Profile profile = profile_with_room(4);
  const Plan plan = PlannerUnderTest("checkmate").plan(profile);
  EXPECT_TRUE(plan.feasible) << plan.why;
  EXPECT_THAT(plan.why, HasSubstr("there is no solver"));
  EXPECT_THAT(proof(profile, plan).errors, IsEmpty());
}

TEST(Checkmate, SaysThatNoScheduleFits) {
  const Plan plan = PlannerUnderTest("checkmate").plan(profile_with_room(1));
  EXPECT_FALSE(plan.feasible);
  EXPECT_THAT(plan.why, HasSubstr("it does not fit"));
}

// --- POET, without a solver: Checkmate's groups, and a link that hides copies

TEST(Poet, PagesWithoutASolverWhatTheLinkHides) {
  const Profile profile = profile_with_room(4);
  const Plan plan = PlannerUnderTest("poet").plan(profile);
  EXPECT_TRUE(plan.feasible) << plan.why;
  EXPECT_THAT(plan.why, HasSubstr("there is no solver"));
  EXPECT_THAT(proof(profile, plan).errors, IsEmpty());
  EXPECT_THAT(segments(plan), IsEmpty());
  EXPECT_FALSE(plan.actions.empty());
}

// --- all

TEST(RecomputePlanners, SayThatABudgetBelowTheFloorDoesNotFit) {
  for (const char* name : {"superneurons", "capuchin", "dtr"}) {
    const Plan plan = PlannerUnderTest(name).plan(profile_with_room(1));
    EXPECT_FALSE(plan.feasible) << name;
    EXPECT_THAT(plan.why, HasSubstr("does not fit")) << name;
  }
}

}  // namespace
}  // namespace uvmsim::testing_support
