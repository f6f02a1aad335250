// A program of one GPU as a pipeline over several.
#pragma once

#include "trace/record.h"
#include "workload/pipeline_schedule.h"

namespace uvmsim {

struct PipelineShape {
  PipelineKind kind = PipelineKind::Flush;
  int stages = 2;         // GPUs
  int packs = 1;          // that each of them has, in turns: of GPipe (run_pipeline)
  int micro_batches = 8;  // each is an iteration of the program; an iteration of the result is this many, and a step
};

// `trace`, which runs on one device and stream, as one process over this many devices: the layers of its forward pass
// are cut into packs of even time, with their backward kernels and their part of the step; a stage has one or several.
// What a stage reads of another's is sent as soon as it is made, on streams of their own. Gradients are accumulated as
// by sync_gradients with `every`. Stages issue side by side: a launch takes the host 1/stages of its time. Two versions
// of the weights are two allocations. Weights that several stages read are on each of them; that they agree costs
// nothing.
//
// UserError named after the trace where it has collectives, events, several devices or streams, no phases "forward",
// "backward" and "optimizer", fewer layers than packs, packs in turns but another schedule than GPipe's, or, without a
// flush, too few micro-batches for two versions.
trace::Trace pipeline(const trace::Trace& trace, const PipelineShape& shape);

}  // namespace uvmsim
