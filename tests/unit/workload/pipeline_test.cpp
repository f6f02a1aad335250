#include "workload/pipeline.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <map>
#include <set>

#include "base/user_error.h"
#include "support/generate.h"
#include "support/layer_chain.h"
#include "support/sizes.h"
#include "support/trace_totals.h"
#include "trace/checker.h"

namespace uvmsim {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using testing_support::most_bytes;
using trace::Kernel;

// Four layers with activations of 64 MiB, two on each of two GPUs.
trace::Trace staged(PipelineKind kind, int micro_batches, int stages = 2) {
  const LayerChain chain{.layers = 4, .optimizer = true};
  trace::Trace trace = pipeline(chain.trace(2), {.kind = kind, .stages = stages, .micro_batches = micro_batches});
  EXPECT_TRUE(check_trace(trace).empty());
  return trace;
}

// 2 batches of 3 micro-batches, in each of which layers 0 and 1 are forward and backward on GPU 0; steps of three
// kernels per layer.
TEST(Pipeline, PutsLayersAndTheirStepOnTheirGpu) {
  const trace::Trace trace = staged(PipelineKind::Flush, 3);
  std::map<int, std::map<std::string, int>> kernels;
  for (const trace::Record& record : trace.records)
    if (const auto* kernel = std::get_if<trace::Kernel>(&record))
      ++kernels[kernel->device][trace.strings[static_cast<std::size_t>(kernel->name)]];
  for (const int device : {0, 1}) {
    EXPECT_EQ(kernels[device]["forward"], 2 * 3 * 2);
    EXPECT_EQ(kernels[device]["backward"], 2 * 3 * 2);
    EXPECT_EQ(kernels[device]["adam_p"], 2 * 2);
    EXPECT_EQ(kernels[device]["accumulate_grad"], 2 * 2 * 2);  // all but the first of each batch add to it
  }
  EXPECT_EQ(
      std::ranges::count_if(trace.records, [](const auto& r) { return std::holds_alternative<trace::Iteration>(r); }),
      2);
}

// Layer 1's activation, which layer 2 reads forward and backward, crosses once per micro-batch.
TEST(Pipeline, SendsWhatTheNextStageReadsOnce) {
  const trace::Trace trace = staged(PipelineKind::Flush, 3);
  int sends = 0, receives = 0;
  for (const trace::Record& record : trace.records)
    if (const auto* op = std::get_if<trace::CollectiveOp>(&record)) {
      const bool send = op->kind == trace::Collective::Send;
      ++(send ? sends : receives);
      EXPECT_EQ(op->bytes, 64 * kMiB);
      EXPECT_EQ(op->device, send ? 0 : 1);
      EXPECT_EQ(op->peer, send ? 1 : 0);
    }
  EXPECT_EQ(sends, 2 * 3);
  EXPECT_EQ(receives, 2 * 3);
}

// GPU 0 keeps two activations of 64 MiB for each micro-batch in flight: d - i = 2, or all 3 of GPipe.
TEST(Pipeline, HoldsTheMicroBatchesInFlight) {
  for (const PipelineKind kind :
       {PipelineKind::ModelParallel, PipelineKind::GPipe, PipelineKind::Flush, PipelineKind::DoubleBuffered})
    EXPECT_EQ(most_bytes(staged(kind, 3), 0, "act"), micro_batches_in_flight(kind, 2, 0, 3) * 2 * 64 * kMiB);
}

// Of two layers with weights of 1 MiB.
TEST(Pipeline, HoldsTwoVersionsOfTheWeightsWhereBatchesOverlap) {
  EXPECT_EQ(most_bytes(staged(PipelineKind::Flush, 3), 1, "param"), 2 * kMiB);
  EXPECT_EQ(most_bytes(staged(PipelineKind::DoubleBuffered, 3), 1, "param"), 4 * kMiB);
}

// 2 batches of 3 micro-batches over 2 layers a GPU, each forward twice.
TEST(Pipeline, RecomputedRunsForwardTwice) {
  const trace::Trace trace = pipeline(LayerChain{.layers = 4, .optimizer = true}.trace(2),
                                      {.stages = 2, .micro_batches = 3, .recompute = true});
  std::map<std::string, int> kernels;
  for (const Kernel& kernel : records_of<Kernel>(trace))
    kernels[trace.strings[static_cast<std::size_t>(kernel.name)]] += kernel.device == 1;
  EXPECT_EQ(kernels["forward"], 2 * 2 * 3 * 2);
  EXPECT_EQ(kernels["backward"], 2 * 3 * 2);
}

// Skip connections, tensors that are freed by another stage than their maker's, and images and tokens from the host:
// whatever is dropped and made again, what lives at the end does so without recomputation, too.
TEST(Pipeline, RecomputedLeavesAValidTraceAndNothingBehind) {
  const auto left = [](const trace::Trace& trace) {
    std::map<trace::TensorId, std::int64_t> live;
    for (const auto& record : trace.records) {
      if (const auto* alloc = std::get_if<trace::Alloc>(&record)) live[alloc->tensor] = alloc->bytes;
      if (const auto* free = std::get_if<trace::Free>(&record)) live.erase(free->tensor);
    }
    std::multiset<std::int64_t> bytes;
    for (const auto& [tensor, size] : live) bytes.insert(size);
    return bytes;
  };
  for (const char* network : {"googlenet", "bert_base", "unet", "gnmt"})
    for (const PipelineKind kind : {PipelineKind::GPipe, PipelineKind::DoubleBuffered}) {
      const trace::Trace one = generate(network, R"({"batch": 2})", 2);
      PipelineShape shape{.kind = kind, .stages = 3, .width = 2, .micro_batches = 3};
      const std::multiset<std::int64_t> kept = left(pipeline(one, shape));
      shape.recompute = true;
      const trace::Trace again = pipeline(one, shape);
      EXPECT_TRUE(check_trace(again).empty()) << network;
      EXPECT_EQ(left(again), kept) << network;
    }
}

// Three pipelines of two stages: the replicas of stage s are GPUs s, 2 + s and 4 + s. Each batch they sum the gradients
// of their two layers, of 1 MiB each, once.
TEST(Pipeline, SumsGradientsOverPipelinesSideBySide) {
  const trace::Trace trace =
      pipeline(LayerChain{.layers = 4, .optimizer = true}.trace(2), {.stages = 2, .width = 3, .micro_batches = 3});
  EXPECT_TRUE(check_trace(trace).empty());
  EXPECT_EQ(trace.header.devices.size(), 6u);
  std::map<int, std::vector<int>> members;  // by communicator
  for (const trace::CollectiveOp& op : records_of<trace::CollectiveOp>(trace)) {
    if (op.kind != trace::Collective::AllReduce) {
      EXPECT_EQ(op.device / 2, op.peer / 2);
      continue;
    }
    EXPECT_EQ(op.bytes, 2 * kMiB);
    members[op.communicator].push_back(op.device);
  }
  EXPECT_EQ(members, (std::map<int, std::vector<int>>{{1, {0, 2, 4, 0, 2, 4}}, {2, {1, 3, 5, 1, 3, 5}}}));
}

// Four packs of a layer on two GPUs in turns: layers 0 and 2 on GPU 0. Every activation but the last is read by the
// next pack, and by none other of the same GPU: three cross per micro-batch. All micro-batches of layer 0 are forward
// before layer 2's, and layer 2's step is before layer 0's backward kernels.
TEST(Pipeline, DealsPacksOutInTurns) {
  const LayerChain chain{.layers = 4, .optimizer = true};
  const trace::Trace trace =
      pipeline(chain.trace(2), {.kind = PipelineKind::GPipe, .stages = 2, .packs = 2, .micro_batches = 3});
  EXPECT_TRUE(check_trace(trace).empty());
  std::string layer, of_gpu_0;
  int sends = 0;
  for (const trace::Record& record : trace.records) {
    if (const auto* l = std::get_if<trace::Layer>(&record)) layer = trace.strings[static_cast<std::size_t>(l->name)];
    if (const auto* op = std::get_if<trace::CollectiveOp>(&record)) sends += op->kind == trace::Collective::Send;
    const auto* kernel = std::get_if<trace::Kernel>(&record);
    if (kernel == nullptr || kernel->device != 0) continue;
    const std::string& name = trace.strings[static_cast<std::size_t>(kernel->name)];
    if (name == "forward") of_gpu_0 += "F" + layer.substr(5);
    if (name == "backward") of_gpu_0 += "B" + layer.substr(5);
    if (name == "adam_p") of_gpu_0 += "S";
  }
  const std::string batch = "F0F0F0F2F2F2B2B2B2SB0B0B0S";
  EXPECT_EQ(of_gpu_0, batch + batch);
  EXPECT_EQ(sends, 2 * 3 * 3);
}

TEST(Pipeline, RefusesWhatItCannotCut) {
  EXPECT_THAT([] { staged(PipelineKind::Flush, 3, 5); },
              ThrowsMessage<UserError>(HasSubstr("4 layers in a phase \"forward\" make no 5 stages")));
  EXPECT_THAT([] { staged(PipelineKind::DoubleBuffered, 2, 4); },
              ThrowsMessage<UserError>(HasSubstr("2 micro-batches in 4 stages need more than two versions")));
  EXPECT_THAT([] { pipeline(LayerChain{.layers = 4}.trace(2), {.stages = 2, .packs = 2}); },
              ThrowsMessage<UserError>(HasSubstr("packs in turns go with the schedule gpipe alone")));
  EXPECT_THAT([] { pipeline(LayerChain{.layers = 4}.trace(2), {.stages = 2, .width = 64}); },
              ThrowsMessage<UserError>(HasSubstr("64 pipelines of 2 stages make 128 GPUs, of at most 127")));
}

}  // namespace
}  // namespace uvmsim
