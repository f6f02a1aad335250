// Pipelines of GPUs: in which order each stage computes the micro-batches, when, and how many it keeps meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/units.h"

namespace uvmsim {

enum class PipelineKind : std::uint8_t {
  ModelParallel,   // one micro-batch at a time: forward through all stages and back. Not pipelined
  GPipe,           // all forward, then all backward, then the step (Huang et al., NeurIPS 2019)
  Flush,           // forward and backward in turns, and a step once the pipeline is empty (PipeDream-Flush)
  DoubleBuffered,  // the same without emptying it: batches overlap, so two versions of the weights are kept
                   // (PipeDream-2BW, Narayanan et al., ICML 2021)
};

struct StageTask {
  enum class Kind : std::uint8_t { Forward, Backward, Step };
  Kind kind = Kind::Forward;
  std::int64_t micro_batch = 0;  // counted over all batches; of a Step the last of its batch
  friend bool operator==(const StageTask&, const StageTask&) = default;
};

// What stage `stage` of `stages`, alone on its GPU, does in `batches` batches of `micro_batches` each.
std::vector<StageTask> stage_order(PipelineKind kind, int stages, int stage, int micro_batches, int batches);

// Micro-batches that a stage has run forward and not back, at most.
int micro_batches_in_flight(PipelineKind kind, int stages, int stage, int micro_batches);

struct StageTimes {
  Duration forward{}, backward{};            // of one micro-batch
  Duration send_forward{}, send_backward{};  // of what a micro-batch passes to the next stage, to the one before
  Duration all_reduce{}, step{};             // of a batch: over the replicas of the stage, then the optimizer
};

struct ScheduledTask {
  int stage = 0;
  StageTask task;
  Time start{};
};

struct PipelineRun {
  Duration batch{};                  // from one batch to the next, in the steady state: over the later half of them
  std::vector<int> in_flight;        // by stage, at most
  std::vector<ScheduledTask> tasks;  // by their starts, and what a task needs before it
};

// GPUs compute one task at a time in their order; what they pass on goes at the same time, one after the other on
// each way. Steps wait for the all-reduce; with two versions of the weights it runs alongside the next batch instead.
// With several `packs`, of GPipe, each GPU has this many of the stages, dealt out in turns: it takes all micro-batches
// through one of them before the next, and that one's step once their gradients are there (Harmony, VLDB 2022).
PipelineRun run_pipeline(PipelineKind kind, const std::vector<StageTimes>& stages, int micro_batches, int batches = 8,
                         int packs = 1);

// Where each of `stages` stages ends that take `work` one after the other, each at least one element, so that the
// longest is as short as can be; with several such ways, early stages take as much as they can. Indices into `work`,
// ascending.
std::vector<std::size_t> cut_evenly(const std::vector<Duration>& work, int stages);

// The share of the time that the stages of a pipeline with a flush wait, where all take the same and passing on takes
// none: (d - 1) / (m + d - 1).
double flush_bubble(int stages, int micro_batches);

}  // namespace uvmsim
