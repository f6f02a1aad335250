// A chain of two layers with an optimizer: activations of 64 MiB, weights of 1 MiB; forward 10 ms, backward 20 ms and
// the optimizer's kernels 1 ms each.
#include "workload/split_batch.h"

#include <gmock/gmock.h>

#include "base/user_error.h"
#include "support/layer_chain.h"
#include "support/trace_text.h"
#include "trace/checker.h"

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
  TraceBuilder summed({});
  summed.iteration(0);
  const trace::TensorId input = summed.allocate(Bytes{512}, TensorKind::Input);
  summed.kernel("k", {.duration_ns = 1}, {reads(input)});
  summed.collective({.kind = trace::Collective::AllReduce, .bytes = 0}, {});
  refuses("sum gradients afterwards", summed.take());
  EXPECT_EQ(trace::text_of(split_batch(of_weights, 1)), trace::text_of(of_weights));
}

}  // namespace
}  // namespace uvmsim
