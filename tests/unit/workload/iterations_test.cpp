#include "workload/iterations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/user_error.h"
#include "support/trace_text.h"
#include "trace/checker.h"
#include "trace/format.h"
#include "workload/cut.h"
#include "workload/retarget.h"

namespace uvmsim {
namespace {

std::vector<std::int32_t> sequence(const std::string& text) { return {text.begin(), text.end()}; }

// warm-up "xy", then 4 times "abcab" and a broken-off "ab".
TEST(FindRepetition, SkipsTheWarmUpAndTheBrokenOffEnd) {
  const Repetition found = find_repetition(sequence("xyabcababcababcababcabab"));
  EXPECT_EQ(found.period, 5);
  EXPECT_EQ(found.first, 2);
  EXPECT_EQ(found.count, 4);
}

// Layers repeat within an iteration; the whole iteration repeats further.
TEST(FindRepetition, PrefersWhatCoversMoreOverInnerRepetitions) {
  const Repetition found = find_repetition(sequence("fllllbfllllbfllllb"));
  EXPECT_EQ(found.period, 6);
  EXPECT_EQ(found.count, 3);
  EXPECT_EQ(found.first, 0);
}

// abc 6 times, then ab: each name occurs six times or seven in an iteration of 20.
TEST(FindRepetition, FindsIterationsInWhichNoNameIsRare) {
  std::string text = "cc";
  for (int i = 0; i < 8; ++i) text += "abcabcabcabcabcabcab";
  const Repetition found = find_repetition(sequence(text + "bb"));
  EXPECT_EQ(found.period, 20);
  EXPECT_EQ(found.first, 2);
  EXPECT_EQ(found.count, 8);
}

TEST(FindRepetition, FindsNothingWhereNothingRepeats) {
  EXPECT_EQ(find_repetition(sequence("abcdefg")).count, 0);
  EXPECT_EQ(find_repetition({}).count, 0);
}

// Two kernels a and b per iteration; a's output lives to b. Least memory is alive before the allocation for a.
std::string iteration(int tensor) {
  const std::string id = std::to_string(tensor);
  return "[\"A\"," + id + ",64,0]\n[\"K\",0,0,10,[[1,1,0],[" + id + ",2,0]]]\n[\"K\",1,0,20,[[" + id +
         ",1,0]]]\n[\"F\"," + id + "]\n";
}
const std::string kPrefix = trace::kTestHeader + "[\"A\",1,64,0]\n[\"S\",0,\"a\"]\n[\"S\",1,\"b\"]\n";

TEST(MarkIterations, StartsThemWhereTheLeastMemoryIsAlive) {
  trace::Trace trace = trace::trace_of(kPrefix + iteration(2) + iteration(3) + iteration(4));
  EXPECT_EQ(mark_iterations(trace), "3 of 2 kernels each, found by the repetition of their names; 0 kernels before");
  std::string kinds;
  for (const trace::Record& record : trace.records) kinds += std::string(trace::kRecordTags[record.index()]);
  EXPECT_EQ(kinds, "IAAKKFIAKKFIAKKF");
  EXPECT_THAT(trace::check_trace(trace), testing::IsEmpty());
}

// abab and 6 kernels of their own: 4 of 10 repeat.
TEST(MarkIterations, LittleThatRepeatsIsNoIteration) {
  std::string text = kPrefix + iteration(2) + iteration(3);
  for (int i = 2; i < 8; ++i)
    text +=
        "[\"S\"," + std::to_string(i) + ",\"k" + std::to_string(i) + "\"]\n[\"K\"," + std::to_string(i) + ",0,10,[]]\n";
  trace::Trace trace = trace::trace_of(text);
  EXPECT_EQ(mark_iterations(trace), "none: what repeats is 2 times 2 of 10 kernels, less than 90 %");
  EXPECT_FALSE(has_iterations(trace));
}

TEST(MarkIterations, SaysWhenThereAreNone) {
  trace::Trace trace = trace::trace_of(kPrefix + iteration(2));
  EXPECT_EQ(mark_iterations(trace), "none: the kernels' names do not repeat");
  EXPECT_EQ(trace.header.unknowns.size(), 1u);
}

const std::string kThree = kPrefix + "[\"V\",1,0,-1,1,0]\n[\"E\",0,0]\n[\"I\",0]\n" + iteration(2) +
                           "[\"A\",9,32,0]\n[\"I\",1]\n[\"W\",0,1]\n" + iteration(3) + "[\"I\",2]\n" + iteration(4);

TEST(CutIterations, KeepsWhatIsAliveAndDropsWaitsThatWereMet) {
  const trace::Trace part = cut_iterations(trace::trace_of(kThree), 1, 2);
  EXPECT_THAT(trace::check_trace(part), testing::IsEmpty());
  const std::string text = trace::text_of(part);
  EXPECT_EQ(text.substr(text.find('\n') + 1),
            "[\"A\",1,64,0]\n[\"V\",1,0,-1,1,0]\n[\"A\",9,32,0]\n[\"I\",1]\n[\"A\",3,64,0]\n"
            "[\"S\",0,\"a\"]\n[\"K\",0,0,10,[[1,1,0],[3,2,0]]]\n"
            "[\"S\",1,\"b\"]\n[\"K\",1,0,20,[[3,1,0]]]\n[\"F\",3]\n");
  EXPECT_EQ(part.header.provenance, "iterations 1:2 of 3, with 3 records of what was alive before");
}

TEST(CutIterations, RefusesIterationsThatAreNotThere) {
  EXPECT_THROW(cut_iterations(trace::trace_of(kThree), 1, 4), UserError);
}

GpuSpec gpu(const char* architecture, double flops, std::int64_t bandwidth) {
  GpuSpec spec;
  spec.name = architecture;
  spec.architecture = architecture;
  spec.fp32_flops = flops;
  spec.memory_bandwidth = {bandwidth};
  return spec;
}

// Twice the arithmetic and four times the bandwidth: a product of unknown size takes half, an elementwise kernel of
// 1 GB (over the shortest kernel's time on both) a quarter.
TEST(Retarget, ScalesByWhatBindsTheClass) {
  trace::Trace trace = trace::trace_of(trace::kTestHeader +
                                       "[\"A\",1,1000000000,0]\n[\"S\",0,\"volta_sgemm_128x64_nn\"]\n"
                                       "[\"S\",1,\"vectorized_elementwise_kernel\"]\n"
                                       "[\"K\",0,0,1000000]\n[\"K\",1,0,4000000,[[1,1,0]]]\n");
  trace.header.durations_status = "measured";
  retarget(trace, gpu("volta", 10e12, 100'000'000'000), gpu("volta", 20e12, 400'000'000'000));
  EXPECT_EQ(std::get<trace::Kernel>(trace.records[1]).duration_ns, 500000);
  EXPECT_EQ(std::get<trace::Kernel>(trace.records[2]).duration_ns, 1000000);
  EXPECT_EQ(trace.header.durations_status, "scaled");
  EXPECT_THAT(trace.header.durations, testing::HasSubstr("scaled from volta to volta"));
  EXPECT_THAT(trace.header.unknowns,
              testing::ElementsAre("1 of 2 kernels: their arithmetic is not known; scaled by the peak rate"));
}

TEST(Retarget, KnowsKernelsByName) {
  EXPECT_EQ(kernel_of("volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn").kernel_class, dnn::KernelClass::Gemm);
  EXPECT_TRUE(kernel_of("volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn").tensor_cores);
  EXPECT_EQ(kernel_of("cudnn::cnn::wgrad_alg0_engine").kernel_class, dnn::KernelClass::WeightGradient);
  EXPECT_FALSE(kernel_of("my_kernel").known);
}

}  // namespace
}  // namespace uvmsim
