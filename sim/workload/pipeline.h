// A program of one GPU as a pipeline over several.
#pragma once

#include "trace/record.h"
#include "workload/pipeline_schedule.h"

namespace uvmsim {

struct PipelineShape {
  PipelineKind kind = PipelineKind::Flush;
  int stages = 2;  // GPUs
  int packs = 1;   // that each of them has, in turns: of GPipe (run_pipeline)
  int width = 1;   // such pipelines side by side
  // Of each pipeline. Each is an iteration of the program; an iteration of the result is this many, and a step.
  int micro_batches = 8;
  bool recompute = false;  // forward runs again before backward, from what a stage has got of others alone
};

// `trace`, which runs on one device and stream, as one process over this many devices: the layers of its forward pass
// are cut into packs of even time, with their backward kernels and their part of the step; a stage has one or several.
// What a stage reads of another's is sent as soon as it is made, on streams of their own. Gradients are accumulated as
// by sync_gradients with `every`. Stages issue side by side: a launch takes the host 1/stages of its time. Two versions
// of the weights are two allocations. Weights that several stages read are on each of them; that they agree costs
// nothing.
//
// Recomputed: what the forward kernels of a stage make for a micro-batch is freed once they have run, and made again by
// them right before the backward ones; what they got of the host or other stages is kept until then. What is sent
// counts as free at once.
//
// Several pipelines: stage s of pipeline r is device r * stages + s. Before each step the replicas of a pack sum the
// weight gradients that it uses, in one all-reduce that the step waits for, with two versions of the weights, too.
//
// UserError named after the trace where it has collectives, events, several devices or streams, no phases "forward",
// "backward" and "optimizer", fewer layers than packs, packs in turns but another schedule than GPipe's or
// recomputation, several pipelines without weight gradients, or, without a flush, too few micro-batches for two
// versions.
trace::Trace pipeline(const trace::Trace& trace, const PipelineShape& shape);

}  // namespace uvmsim
