// What defines each call policy, on the smallest trace that shows it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/user_error.h"
#include "plan/plan_of_calls.h"
#include "support/call_trace.h"

namespace uvmsim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Lines = std::vector<std::string>;

Lines calls_of(const std::string& policy, const std::string& parameters, const trace::Trace& trace,
               const CallSetting& setting = setting_of()) {
  return lines_of(call_policy(policy, parameters)->calls(trace, setting));
}

// Records: 0 alloc 1, 1 alloc 2, 2 alloc 3, 3 kernel 2 = f(1), 4 kernel 3 = f(2).
trace::Trace chain(std::int64_t mib = 8) {
  TraceBuilder t = call_trace();
  for (int i = 0; i < 3; ++i) t.allocate(Bytes{mib * kMiB}, TensorKind::Activation);
  t.kernel("f", kernel_on(), {reads(1), writes(2)});
  t.kernel("f", kernel_on(), {reads(2), writes(3)});
  return t.take();
}

TEST(OperandPrefetch, StandsBeforeEachKernelInTheOrderOfItsOperands) {
  EXPECT_THAT(calls_of("operand_prefetch", "{}", chain()),
              ElementsAre("3: prefetch 1", "3: prefetch 2", "4: prefetch 2", "4: prefetch 3"));
}

TEST(OperandPrefetch, ChoosesInputsOrOutputs) {
  EXPECT_THAT(calls_of("operand_prefetch", R"({"which": "inputs"})", chain()),
              ElementsAre("3: prefetch 1", "4: prefetch 2"));
  EXPECT_THAT(calls_of("operand_prefetch", R"({"which": "outputs"})", chain()),
              ElementsAre("3: prefetch 2", "4: prefetch 3"));
}

TEST(OperandPrefetch, LeavesSmallOperandsToFaults) {
  EXPECT_THAT(calls_of("operand_prefetch", R"({"min_bytes": "9 MiB"})", chain()), IsEmpty());
}

// Records: 0 and 1 allocations, 2 a convolution, 3 a pooling, 4 an Adam step.
trace::Trace three_classes() {
  TraceBuilder t = call_trace();
  for (int i = 0; i < 2; ++i) t.allocate(Bytes{8 * kMiB}, TensorKind::Activation);
  for (const char* name : {"Conv2d_fwd", "max_pool", "adam_step"}) t.kernel(name, kernel_on(), {reads(1)});
  return t.take();
}

TEST(OperandPrefetch, ChoosesKernelsByClassAndByPartsOfNames) {
  EXPECT_THAT(calls_of("operand_prefetch", R"({"kernels": "convolution, ADAM_"})", three_classes()),
              ElementsAre("2: prefetch 1", "4: prefetch 1"));
  EXPECT_THAT(calls_of("operand_prefetch", R"({"kernels": "gemm"})", three_classes()), IsEmpty());
}

TEST(OperandPrefetch, RefusesWordsThatMeanNoKernelAllAtOnce) {
  try {
    calls_of("operand_prefetch", R"({"kernels": "convolutoin,conv,,sgd"})", three_classes());
    FAIL() << "taken";
  } catch (const UserError& error) {
    ASSERT_EQ(error.errors().size(), 3u);
    EXPECT_THAT(error.errors()[0].message, testing::HasSubstr("did you mean \"convolution\"?"));
    EXPECT_THAT(error.errors()[2].message, testing::HasSubstr("\"sgd\""));
  }
}

TEST(OperandPrefetch, JoinsTheAccessesToOneTensor) {
  TraceBuilder t = call_trace();
  t.allocate(Bytes{8 * kMiB}, TensorKind::Param);
  t.kernel("f", kernel_on(), {at(reads(1), kMiB, kMiB), at(writes(1), 4 * kMiB, kMiB)});
  const auto calls = call_policy("operand_prefetch")->calls(t.take(), setting_of());
  ASSERT_EQ(calls.size(), 1u);
  const auto& prefetch = std::get<trace::Prefetch>(calls[0].call);
  EXPECT_EQ(prefetch.offset, kMiB);      // the first byte of the first access
  EXPECT_EQ(prefetch.length, 4 * kMiB);  // to the last byte of the second: 5 MiB
}

TEST(OperandPrefetch, HostMemoryIsNotPrefetched) {
  TraceBuilder t = call_trace();
  t.allocate(Bytes{8 * kMiB}, TensorKind::Input, static_cast<int>(trace::Space::PinnedHost));
  t.allocate(Bytes{8 * kMiB}, TensorKind::Input, static_cast<int>(trace::Space::Device));
  t.kernel("f", kernel_on(), {reads(1), writes(2)});
  EXPECT_THAT(calls_of("operand_prefetch", "{}", t.take()), IsEmpty());
}

// 3 x 8 MiB are held: more than 16 MiB, not more than 24.
TEST(OperandPrefetch, FootprintAsksWhetherTheProgramFits) {
  EXPECT_EQ(calls_of("operand_prefetch", R"({"when": "footprint"})", chain(), setting_of(16)).size(), 4u);
  EXPECT_THAT(calls_of("operand_prefetch", R"({"when": "footprint"})", chain(), setting_of(24)), IsEmpty());
}

// A GPU of 16 MiB holds the 8 MiB of two tensors. Kernel 3 brings 1 and 2; kernel 4 finds 2 and misses 3.
TEST(OperandPrefetch, ShadowLeavesOutWhatWasUsedLately) {
  EXPECT_THAT(calls_of("operand_prefetch", R"({"when": "shadow"})", chain(), setting_of(16)),
              ElementsAre("3: prefetch 1", "3: prefetch 2", "4: prefetch 3"));
}

// As above with room for 8 MiB: using 2 after 1 pushed 1 out, and using 3 pushes 2 out.
TEST(OperandPrefetch, ShadowForgetsTheLeastRecentlyUsed) {
  TraceBuilder t = call_trace();
  for (int i = 0; i < 2; ++i) t.allocate(Bytes{8 * kMiB}, TensorKind::Activation);
  for (const trace::TensorId tensor : {1, 2, 2, 1}) t.kernel("f", kernel_on(), {reads(tensor)});
  EXPECT_THAT(calls_of("operand_prefetch", R"({"when": "shadow"})", t.take(), setting_of(8)),
              ElementsAre("2: prefetch 1", "3: prefetch 2", "5: prefetch 1"));
}

TEST(OperandPrefetch, RuntimeGatesAreAskedByName) {
  EXPECT_EQ(call_policy("operand_prefetch", R"({"when": "oracle"})")->gate(), "oracle");
  EXPECT_EQ(call_policy("operand_prefetch", R"({"when": "shadow"})")->gate(), "");
}

// One kernel ahead: the operands of record 4 start with the kernel of record 3 on side stream 1, behind event 0; the
// kernel waits for event 1, their end. Nothing precedes the first kernel.
TEST(OperandPrefetch, AheadRunsBesideAnEarlierKernel) {
  EXPECT_THAT(calls_of("operand_prefetch", R"({"ahead": 1})", chain()),
              ElementsAre("3: prefetch 1", "3: prefetch 2", "3: record 0", "3: wait 0 @1", "3: prefetch 2 @1",
                          "3: prefetch 3 @1", "3: record 1 @1", "4: wait 1"));
}

// Both kernels together use 24 MiB: on a GPU of 16 MiB prefetching for the second would evict what the first uses.
TEST(OperandPrefetch, AheadNeverEvictsWhatIsUsedSooner) {
  EXPECT_THAT(calls_of("operand_prefetch", R"({"ahead": 1})", chain(), setting_of(16)),
              ElementsAre("3: prefetch 1", "3: prefetch 2", "4: prefetch 2", "4: prefetch 3"));
  EXPECT_EQ(calls_of("operand_prefetch", R"({"ahead": 1, "guard": false})", chain(), setting_of(16)).size(), 8u);
}

TEST(OperandPrefetch, WhatIsAllocatedLaterIsNotPrefetchedAhead) {
  TraceBuilder t = call_trace();
  t.allocate(Bytes{8 * kMiB}, TensorKind::Activation);
  t.kernel("f", kernel_on(), {writes(1)});
  t.allocate(Bytes{8 * kMiB}, TensorKind::Activation);
  t.kernel("f", kernel_on(), {writes(2)});
  EXPECT_THAT(calls_of("operand_prefetch", R"({"ahead": 1})", t.take()), ElementsAre("1: prefetch 1", "3: prefetch 2"));
}

TEST(AllocationPrefetch, FollowsEachLargeAllocation) {
  TraceBuilder t = call_trace();
  t.allocate(Bytes{2 * kMiB}, TensorKind::Activation);
  t.allocate(Bytes{2 * kMiB - 1}, TensorKind::Activation);
  EXPECT_THAT(calls_of("allocation_prefetch", "{}", t.take()), ElementsAre("1: prefetch 1"));
}

// Records: 0 alloc 1, 1 and 2 its kernels, 3 a kernel on another tensor, 4 free 1.
trace::Trace dies() {
  TraceBuilder t = call_trace();
  t.allocate(Bytes{8 * kMiB}, TensorKind::Activation);
  t.kernel("f", kernel_on(), {writes(1)});
  t.kernel("f", kernel_on(), {reads(1)});
  t.synchronize();
  t.free(1);
  return t.take();
}

TEST(Discard, StandsBeforeTheFreeOrAfterTheLastUse) {
  EXPECT_THAT(calls_of("discard", "{}", dies()), ElementsAre("4: discard 1"));
  EXPECT_THAT(calls_of("discard", R"({"when": "last_use"})", dies()), ElementsAre("3: discard 1"));
}

TEST(Discard, LazilyPrefetchesBeforeTheFirstUse) {
  EXPECT_THAT(calls_of("discard", R"({"mode": "lazy"})", dies()), ElementsAre("1: prefetch 1", "4: discard lazily 1"));
}

// Tensor 1 stays allocated: written, read, overwritten. Between the read (record 2) and the write (3) it is dead.
TEST(Discard, KeptTensorsAreDeadBeforeTheyAreOverwritten) {
  TraceBuilder t = call_trace();
  t.allocate(Bytes{8 * kMiB}, TensorKind::WeightGradient);
  t.kernel("f", kernel_on(), {writes(1)});
  t.kernel("f", kernel_on(), {reads(1)});
  t.kernel("f", kernel_on(), {writes(1)});
  t.kernel("f", kernel_on(), {updates(1)});
  const trace::Trace trace = t.take();
  EXPECT_THAT(calls_of("discard", "{}", trace), IsEmpty());
  EXPECT_THAT(calls_of("discard", R"({"overwritten": true})", trace), ElementsAre("3: discard 1"));
}

TEST(Discard, OldDriversDoNotKnowIt) {
  CallSetting old = setting_of();
  old.has_discard = false;
  EXPECT_THROW(calls_of("discard", "{}", dies(), old), UserError);
}

// Advice is by address: a freed tensor takes its own back, so that the next one there does not inherit it.
TEST(Advise, ComesWithTheAllocationAndGoesWithTheFree) {
  EXPECT_THAT(calls_of("advise", R"({"preferred_location_gpu": "act"})", dies()),
              ElementsAre("1: advise 1 2 for 0", "4: advise 1 -2 for 0"));
  EXPECT_THAT(
      calls_of("advise", R"({"preferred_location_host": "act", "accessed_by_gpu": "act"})", dies()),
      ElementsAre("1: advise 1 2 for -1", "1: advise 1 3 for 0", "4: advise 1 -2 for -1", "4: advise 1 -3 for 0"));
  EXPECT_THAT(calls_of("advise", R"({"preferred_location_gpu": "act", "take_back": false})", dies()),
              ElementsAre("1: advise 1 2 for 0"));
  EXPECT_THAT(calls_of("advise", R"({"read_mostly": "param"})", dies()), IsEmpty());
}

TEST(Advise, UnknownKindsAreRefusedWithTheNearestOne) {
  try {
    calls_of("advise", R"({"read_mostly": "params"})", dies());
    FAIL() << "accepted";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean \"param\""), std::string::npos) << error.what();
  }
  EXPECT_EQ(call_policy("advise", R"({"preferred_location_gpu": "act", "preferred_location_host": "param,act"})")
                ->contradictions()
                .size(),
            1u);
}

// Three tensors of 8 MiB, room for 16 (capacity 1), windows of two kernels; kernels use 1, 2, 3, 1, records 3 to 6.
//   kernel 1: 1 and 2 fit; 2 comes in with kernel 1
//   kernel 2: 3 does not fit beside 1 and 2; of those 1 is used after 3: it goes out, and 3 comes in behind it
//   kernel 3: 1 is wanted again; 2 is never used again: it needs no copy
TEST(LookAhead, MovesOutWhatIsUsedLastAndInWhatIsNext) {
  TraceBuilder t = call_trace();
  for (int i = 0; i < 3; ++i) t.allocate(Bytes{8 * kMiB}, TensorKind::Activation);
  for (const trace::TensorId tensor : {1, 2, 3, 1}) t.kernel("f", kernel_on(), {reads(tensor)});
  EXPECT_THAT(
      calls_of("look_ahead", R"({"kernels": 1, "capacity": 1})", t.take(), setting_of(16)),
      ElementsAre("3: record 2", "3: wait 2 @2", "3: prefetch 2 @2", "3: record 3 @2",  //
                  "4: wait 3", "4: record 0", "4: wait 0 @1", "4: to host 1 @1", "4: record 1 @1", "4: record 2",
                  "4: wait 2 @2", "4: wait 1 @2", "4: prefetch 3 @2", "4: record 4 @2",  //
                  "5: wait 4", "5: record 2", "5: wait 2 @2", "5: prefetch 1 @2", "5: record 3 @2", "6: wait 3"));
}

TEST(PlansOfCalls, NameKernelsAndTensorsByOrdinals) {
  TraceBuilder t = call_trace();
  t.allocate(Bytes{8 * kMiB}, TensorKind::Param);  // held: tensor 0
  t.iteration(0);
  t.allocate(Bytes{8 * kMiB}, TensorKind::Activation);  // made: tensor 1
  t.kernel("f", kernel_on(), {reads(1), writes(2)});
  t.kernel("f", kernel_on(), {reads(2)});
  t.free(2);
  const trace::Trace trace = t.take();
  const auto policies = {call_policy("operand_prefetch", R"({"which": "inputs", "ahead": 1})"), call_policy("discard")};
  std::vector<InsertedCall> calls;
  for (const auto& policy : policies)
    for (InsertedCall& call : policy->calls(trace, setting_of())) calls.push_back(call);
  const std::vector<Plan> plans = plans_of_calls(insert_calls(trace, calls), "test");
  ASSERT_EQ(plans.size(), 1u);
  EXPECT_EQ(plans[0].iteration, (IterationShape{.kernels = 2, .held = 1, .made = 1}));
  const std::vector<Call> expected = {{.kind = Call::Kind::Prefetch, .kernel = 0, .tensor = 0, .bytes = 8 * kMiB},
                                      {.kind = Call::Kind::Prefetch,
                                       .kernel = 0,
                                       .tensor = 1,
                                       .bytes = 8 * kMiB,
                                       .stream = Call::Stream::Side,
                                       .awaited_by = 1},
                                      {.kind = Call::Kind::Discard, .kernel = 1, .after = true, .tensor = 1}};
  EXPECT_EQ(plans[0].calls, expected);
}

}  // namespace
}  // namespace uvmsim
