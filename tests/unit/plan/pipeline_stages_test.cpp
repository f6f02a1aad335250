#include "plan/pipeline_stages.h"

#include <gmock/gmock.h>

#include "base/user_error.h"
#include "support/layer_chain.h"
#include "support/sizes.h"
#include "support/trace_totals.h"
#include "workload/pipeline.h"

namespace uvmsim {
namespace {

using testing_support::most_bytes;

PipelineModel chain_model(const LayerChain& chain = {.layers = 4, .optimizer = true}) {
  return pipeline_model(*chain.profile(std::int64_t{1} << 40).graph);
}

// Weights, gradients and moments of 1 MiB, an activation of 64 MiB that backward needs and the next layer reads; the
// optimizer's three kernels of 1 ms name no layer.
TEST(PipelineModel, CountsWhatEachLayerTakes) {
  const PipelineModel model = chain_model();
  ASSERT_EQ(model.blocks.size(), 4u);
  for (std::size_t b = 0; b < 4; ++b) {
    const PipelineBlocks& block = model.blocks[b];
    EXPECT_EQ(block.layer, "layer" + std::to_string(b));
    EXPECT_EQ(block.forward, nanoseconds(10'000'000));
    EXPECT_EQ(block.backward, nanoseconds(20'000'000));
    EXPECT_EQ(block.step, nanoseconds(3'000'000));
    EXPECT_EQ(block.weights, kMiB);
    EXPECT_EQ(block.gradients, kMiB);
    EXPECT_EQ(block.optimizer_state, kMiB);
    EXPECT_EQ(block.activations, 64 * kMiB);
    EXPECT_EQ(block.output, b < 3 ? 64 * kMiB : 0);
  }
}

// Two layers a stage. With the first stage two micro-batches ahead: weights, gradients and moments of 2 MiB each and
// activations of 2 * 128 MiB; the second has an input of 64 MiB besides. Recomputed, the second stage of GPipe keeps 8
// inputs of 64 MiB and one micro-batch.
TEST(PipelineStages, HoldWhatTheirFormulaSays) {
  const std::vector<PipelineStage> stages = pipeline_stages(chain_model(), 2);
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_EQ(stages[1].input, 64 * kMiB);
  EXPECT_EQ(stage_memory(PipelineKind::Flush, false, stages, 0, 8), (2 + 2 + 2 + 2 * 128) * kMiB);
  EXPECT_EQ(stage_memory(PipelineKind::Flush, false, stages, 1, 8), (2 + 2 + 2 + 128 + 64) * kMiB);
  EXPECT_EQ(stage_memory(PipelineKind::DoubleBuffered, false, stages, 0, 8), (2 * 2 + 2 + 2 + 2 * 128) * kMiB);
  EXPECT_EQ(stage_memory(PipelineKind::GPipe, false, stages, 0, 8), (2 + 2 + 2 + 8 * 128) * kMiB);
  EXPECT_EQ(stage_memory(PipelineKind::GPipe, true, stages, 1, 8), (2 + 2 + 2 + 8 * 64 + 128) * kMiB);
  EXPECT_EQ(stage_memory(PipelineKind::ModelParallel, false, stages, 0, 8), (2 + 2 + 2 + 128) * kMiB);
}

// What a GPU of the pipeline that runs holds of each kind. Activations of the second of two stages: two of 64 MiB and
// an input of 64 MiB, which backward reads, for each micro-batch in flight; recomputed, all inputs and two of one
// micro-batch. The first stage has no input. Besides what the formula counts, a gradient of a layer, 1 MiB, is added to
// the sums, and in turns the next micro-batch's input comes early.
TEST(PipelineStages, HoldInTheProgramWhatTheirFormulaSays) {
  const LayerChain chain{.layers = 4, .optimizer = true};
  const std::vector<PipelineStage> stages = pipeline_stages(chain_model(), 2);
  for (const PipelineKind kind :
       {PipelineKind::ModelParallel, PipelineKind::GPipe, PipelineKind::Flush, PipelineKind::DoubleBuffered})
    for (const bool recompute : {false, true}) {
      const trace::Trace trace =
          pipeline(chain.trace(2), {.kind = kind, .stages = 2, .width = 2, .micro_batches = 3, .recompute = recompute});
      for (const int gpu : {0, 1, 2, 3}) {
        const int s = gpu % 2, in_flight = micro_batches_in_flight(kind, 2, s, 3);
        const bool in_turns = kind == PipelineKind::Flush || kind == PipelineKind::DoubleBuffered;
        const std::int64_t early = in_turns ? s * 64 * kMiB : 0, activations = most_bytes(trace, gpu, "act") - early;
        EXPECT_EQ(activations, (recompute ? s * in_flight + 2 : (s + 2) * in_flight) * 64 * kMiB);
        const std::int64_t weights = most_bytes(trace, gpu, "param"), moments = most_bytes(trace, gpu, "opt");
        const std::int64_t gradients = most_bytes(trace, gpu, "wgrad") - kMiB;
        EXPECT_EQ(weights + gradients + moments + activations, stage_memory(kind, recompute, stages, s, 3));
      }
    }
}

// 6 | 1 1 1 3 and 6 | 1 1 1 | 3 take 6 at most; no cut takes less.
TEST(PipelineStages, CutWhereTheSlowestStageIsFastest) {
  PipelineModel model;
  for (const int work : {6, 1, 1, 1, 3}) model.blocks.emplace_back().forward = Duration{work};
  const auto ends = [&](int stages) {
    std::vector<std::size_t> at;
    for (const PipelineStage& stage : pipeline_stages(model, stages)) at.push_back(stage.outer);
    return at;
  };
  EXPECT_EQ(ends(1), (std::vector<std::size_t>{5}));
  EXPECT_EQ(ends(2), (std::vector<std::size_t>{1, 5}));
  EXPECT_EQ(ends(3), (std::vector<std::size_t>{1, 4, 5}));
  EXPECT_EQ(ends(5), (std::vector<std::size_t>{1, 2, 3, 4, 5}));
}

TEST(PipelineModel, RefusesATraceThatNamesNoPhases) {
  TraceBuilder t({});
  t.iteration(0);
  const trace::TensorId x = t.allocate(Bytes{kMiB}, TensorKind::Activation);
  t.kernel("k", {.duration_ns = 1000}, {writes(x)});
  const trace::Trace trace = t.take();
  const IterationGraph graph(trace, DeviceOrdinal{0}, iterations_of(trace, DeviceOrdinal{0}).front());
  EXPECT_THAT([&] { pipeline_model(graph); },
              testing::ThrowsMessage<UserError>(testing::HasSubstr("expected the phases forward and backward")));
}

}  // namespace
}  // namespace uvmsim
