// A chain of two layers with an optimizer: activations of 64 MiB, weights of 1 MiB; forward 10 ms, backward 20 ms and
// the optimizer's kernels 1 ms each.
#include "workload/split_batch.h"

#include <gmock/gmock.h>
#include <set>

#include "base/user_error.h"
#include "support/layer_chain.h"
#include "support/trace_text.h"
#include "trace/checker.h"
#include "trace/visitor.h"
#include "workload/sync_gradients.h"

namespace uvmsim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using trace::Kernel;

constexpr LayerChain kChain{.layers = 2, .optimizer = true};

std::vector<std::int64_t> milliseconds(const trace::Trace& trace) {
  std::vector<std::int64_t> ms;
  for (const trace::Record& record : trace.records)
    if (const auto* kernel = std::get_if<Kernel>(&record)) ms.push_back(kernel->duration_ns / 1'000'000);
  return ms;
}

// No device is told: half of the batch takes half of the time. The second pass adds each gradient, 3 x 1 MiB of traffic
// as the optimizer's first kernel has, in 1 ms; the optimizer steps once.
TEST(SplitBatch, PassesSumTheirGradientsBeforeOneStep) {
  const trace::Trace split = split_batch(kChain.trace(1), 2);
  EXPECT_TRUE(check_trace(split).empty());
  EXPECT_THAT(milliseconds(split), ElementsAre(5, 5, 10, 10, 5, 5, 10, 1, 10, 1, 1, 1, 1, 1, 1, 1));
  EXPECT_EQ(iterations_of(split, DeviceOrdinal{}).size(), 1u);
}

// In turn 2 weights and 2 moments, 4 MiB; the first pass leaves 2 gradients; the second holds 2 activations of 32 MiB
// and, at its first sum, 1 more gradient.
TEST(SplitBatch, HoldsAPartOfTheActivations) {
  const trace::Trace whole = kChain.trace(2), split = split_batch(whole, 2);
  const auto peak = [](const trace::Trace& t) {
    return IterationGraph(t, DeviceOrdinal{}, iterations_of(t, DeviceOrdinal{}).back()).peak() >> 20;
  };
  EXPECT_EQ(peak(whole), 4 + 128 + 1);
  EXPECT_EQ(peak(split), 4 + 64 + 2 + 1);
}

// 4 GFLOP at 1 TFLOP/s are 4 ms; 1 MB of weights and 1 MB of input at 1 GB/s are 2 ms. Of a quarter: 1 ms against 1 MB
// + 0.25 MB, 1.25 ms. 8 ms become 8 x 1.25 / 4 = 2.5 ms.
TEST(SplitBatch, WeightsAreReadByEachPass) {
  trace::Header header;
  header.devices = {{"gpu", 1 << 30, 1e12, 1e9}};
  TraceBuilder t(header);
  const trace::TensorId weight = t.allocate(Bytes{1'000'000}, TensorKind::Param);
  t.iteration(0);
  const trace::TensorId input = t.allocate(Bytes{1'000'000}, TensorKind::Input);
  t.kernel("gemm", {.duration_ns = 8'000'000, .flops = 4e9}, {reads(weight), reads(input)});
  t.kernel("short", {.duration_ns = 1'000'000}, {updates(input)});
  t.free(input);
  const trace::Trace split = split_batch(t.take(), 4);
  std::vector<std::int64_t> us;
  for (const trace::Record& record : split.records)
    if (const auto* kernel = std::get_if<Kernel>(&record)) us.push_back(kernel->duration_ns / 1000);
  EXPECT_THAT(us, ElementsAre(2500, 1000, 2500, 1000, 2500, 1000, 2500, 1000));  // none below the shortest
}

// Kernels and collectives: those that run, and over how many tensors.
std::vector<std::string> steps(const trace::Trace& trace) {
  std::vector<std::string> steps;
  for (const trace::Record& record : trace.records) {
    if (const auto* kernel = std::get_if<Kernel>(&record))
      steps.push_back(trace.strings[static_cast<std::size_t>(kernel->name)]);
    if (const auto* sum = std::get_if<trace::CollectiveOp>(&record))
      steps.push_back("all-reduce " + std::to_string(sum->accesses.count));
  }
  return steps;
}

// All that the optimizer and an all-reduce use of gradients.
std::set<trace::TensorId> gradients_of_step(const trace::Trace& trace, bool of_collectives) {
  std::set<trace::TensorId> gradients, used;
  for (const trace::Record& record : trace.records) {
    if (const auto* alloc = std::get_if<trace::Alloc>(&record); alloc != nullptr)
      if (trace.header.kinds[alloc->kind] == "wgrad") gradients.insert(alloc->tensor);
    const auto* kernel = std::get_if<Kernel>(&record);
    const bool steps = kernel != nullptr && trace.strings[static_cast<std::size_t>(kernel->name)] == "adam_m";
    if (!(of_collectives ? std::holds_alternative<trace::CollectiveOp>(record) : steps)) continue;
    const trace::AccessSpan span = *trace::access_span(record);
    for (std::uint32_t a = span.first; a < span.first + span.count; ++a)
      if (gradients.contains(trace.accesses[a].tensor)) used.insert(trace.accesses[a].tensor);
  }
  return used;
}

// Gradients are reduced once, of the sums: the second pass adds them, and the optimizer uses what was reduced.
TEST(SplitBatch, CollectivesOverGradientsAreMadeOnceByTheLastPass) {
  const trace::Trace split = split_batch(sync_gradients(kChain.trace(1), {}), 2);
  EXPECT_TRUE(check_trace(split).empty());
  EXPECT_THAT(steps(split), ElementsAre("forward", "forward", "backward", "backward", "forward", "forward", "backward",
                                        "accumulate_grad", "backward", "accumulate_grad", "all-reduce 2", "adam_m",
                                        "adam_sqrt", "adam_p", "adam_m", "adam_sqrt", "adam_p"));
  EXPECT_EQ(gradients_of_step(split, true).size(), 2u);
  EXPECT_EQ(gradients_of_step(split, true), gradients_of_step(split, false));
}

// A bucket of each gradient of 1 MiB is reduced on a stream of its own as soon as its sum is made.
TEST(SplitBatch, BucketsWaitForTheSums) {
  const trace::Trace split = split_batch(sync_gradients(kChain.trace(1), {.bucket = Bytes{1 << 20}}), 2);
  EXPECT_TRUE(check_trace(split).empty());
  EXPECT_THAT(steps(split),
              ElementsAre("forward", "forward", "backward", "backward", "forward", "forward", "backward",
                          "accumulate_grad", "all-reduce 1", "backward", "accumulate_grad", "all-reduce 1", "adam_m",
                          "adam_sqrt", "adam_p", "adam_m", "adam_sqrt", "adam_p"));
  EXPECT_EQ(gradients_of_step(split, true), gradients_of_step(split, false));
}

// An all-reduce over an activation of 64 MiB: one of 32 MiB in each pass.
TEST(SplitBatch, CollectivesOverActivationsAreMadeByEachPass) {
  TraceBuilder t({});
  t.iteration(0);
  const trace::TensorId activation = t.allocate(Bytes{64 << 20}, TensorKind::Activation);
  t.kernel("k", {.duration_ns = 10}, {writes(activation)});
  t.collective({.kind = trace::Collective::AllReduce, .bytes = 64 << 20}, {updates(activation)});
  t.free(activation);
  const trace::Trace split = split_batch(t.take(), 2);
  std::vector<std::int64_t> bytes;
  for (const trace::Record& record : split.records)
    if (const auto* sum = std::get_if<trace::CollectiveOp>(&record)) bytes.push_back(sum->bytes >> 20);
  EXPECT_THAT(bytes, ElementsAre(32, 32));
}

// 10 multiprocessors of 2048 threads.
//   gemm: 2 400 x 128 results of 4 bytes are 150/8 = 18.75 tiles of 128 x 128, 19: 2 waves of 10; half of it 10 tiles,
//   1 wave; a quarter 5 tiles, 1 wave. 8 ms: 4 and 4 ms wgrad: its results do not depend on the batch: 4 and 2 ms
//   launched: 50 CTAs of 512 threads, 40 at once: 2 waves; 25 CTAs: 1 wave; 12 CTAs: 1. 8 ms: 4 and 4 ms
TEST(SplitBatch, ArithmeticGoesByWaves) {
  trace::Header header;
  header.devices = {{"gpu", 1 << 30, 1e12, 1e15}};
  TraceBuilder t(header);
  const trace::TensorId weight = t.allocate(Bytes{1 << 20}, TensorKind::Param);
  t.iteration(0);
  const trace::TensorId a = t.allocate(Bytes{2400 * 128 * 4}, TensorKind::Activation);
  t.kernel("volta_sgemm_128x128_nn", {.duration_ns = 8'000'000, .flops = 8e9}, {reads(weight), writes(a)});
  t.kernel("conv_wgrad", {.duration_ns = 8'000'000, .flops = 8e9}, {reads(a), updates(weight)});
  t.kernel("launched", {.duration_ns = 8'000'000, .flops = 8e9, .grid = 50, .block = 512}, {updates(a)});
  t.kernel("short", {.duration_ns = 1000}, {reads(a)});
  t.free(a);
  const trace::Trace whole = t.take();
  GpuSpec gpu;
  gpu.sms = 10;
  gpu.max_threads_per_sm = 2048;
  gpu.max_ctas_per_sm = 32;
  const auto first_pass = [&](int passes) {
    std::vector<std::int64_t> us = milliseconds(split_batch(whole, passes, &gpu));
    us.resize(3);
    return us;
  };
  EXPECT_THAT(first_pass(2), ElementsAre(4, 4, 4));
  EXPECT_THAT(first_pass(4), ElementsAre(4, 2, 4));
}

// A gradient that outlives the iteration is written by the first pass and added to by the second.
TEST(SplitBatch, HeldGradientsAreAddedTo) {
  TraceBuilder t({});
  const trace::TensorId gradient = t.allocate(Bytes{512}, TensorKind::WeightGradient);
  t.iteration(0);
  const trace::TensorId input = t.allocate(Bytes{1024}, TensorKind::Input);
  t.kernel("wgrad", {.duration_ns = 10}, {reads(input), writes(gradient)});
  t.free(input);
  const trace::Trace split = split_batch(t.take(), 2);
  std::vector<trace::Mode> modes;
  for (const trace::Record& record : split.records)
    if (const auto* kernel = std::get_if<Kernel>(&record))
      modes.push_back(split.accesses[kernel->accesses.first + 1].mode);
  EXPECT_THAT(modes, ElementsAre(trace::Mode::Write, trace::Mode::ReadWrite));
}

// The first iteration makes a gradient that the others zero: the first pass of each makes or zeroes it, both add.
TEST(SplitBatch, GradientsThatAreLeftAreZeroedOnce) {
  TraceBuilder t({});
  trace::TensorId gradient = 0;
  for (int i = 0; i < 2; ++i) {
    t.iteration(i);
    if (i > 0) t.kernel("zero", {.duration_ns = 10}, {writes(gradient)});
    const trace::TensorId input = t.allocate(Bytes{1024}, TensorKind::Input);
    if (i == 0) gradient = t.allocate(Bytes{512}, TensorKind::WeightGradient);
    t.kernel("wgrad", {.duration_ns = 10}, {reads(input), i == 0 ? writes(gradient) : updates(gradient)});
    t.free(input);
  }
  const trace::Trace split = split_batch(t.take(), 2);
  EXPECT_TRUE(check_trace(split).empty());
  EXPECT_THAT(steps(split), ElementsAre("wgrad", "wgrad", "zero", "wgrad", "wgrad"));
  const auto& added = std::get<Kernel>(*std::ranges::find_if(
      split.records.rbegin(), split.records.rend(), [](const auto& r) { return std::holds_alternative<Kernel>(r); }));
  EXPECT_EQ(split.accesses[added.accesses.first + 1].tensor, gradient);
  EXPECT_EQ(split.accesses[added.accesses.first + 1].mode, trace::Mode::ReadWrite);
}

TEST(SplitBatch, RefusesWhatHasNoPartsAndSaysWhy) {
  const auto refuses = [](const std::string& why, const trace::Trace& trace) {
    EXPECT_THAT([&] { split_batch(trace, 2); }, ThrowsMessage<UserError>(HasSubstr(why)));
  };
  TraceBuilder weights_only({});
  const trace::TensorId weight = weights_only.allocate(Bytes{512}, TensorKind::Param);
  weights_only.iteration(0);
  weights_only.kernel("k", {.duration_ns = 1}, {updates(weight)});
  const trace::Trace of_weights = weights_only.take();
  refuses("no tensor is an input", of_weights);
  TraceBuilder unmarked({});
  unmarked.kernel("k", {.duration_ns = 1}, {});
  refuses("no iteration is marked", unmarked.take());
  const auto with_collective = [](bool of_both) {
    TraceBuilder t({});
    const trace::TensorId gradient = t.allocate(Bytes{512}, TensorKind::WeightGradient);
    t.iteration(0);
    const trace::TensorId input = t.allocate(Bytes{512}, TensorKind::Input);
    t.kernel("k", {.duration_ns = 1}, {reads(input)});
    if (of_both)
      t.collective({.bytes = 1024}, {updates(input), updates(gradient)});
    else
      t.collective({.bytes = 512}, {});
    return t.take();
  };
  refuses("what a collective works on is not known", with_collective(false));
  refuses("works on weight gradients and on other tensors", with_collective(true));
  EXPECT_EQ(trace::text_of(split_batch(of_weights, 1)), trace::text_of(of_weights));
}

}  // namespace
}  // namespace uvmsim
