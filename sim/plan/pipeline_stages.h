// A model as a row of blocks, and the stages of a pipeline that it is cut into.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/iteration_graph.h"
#include "workload/pipeline_schedule.h"

namespace uvmsim {

// Layers that follow each other, of one micro-batch: the iteration that they were counted in. Bytes are those asked
// for.
struct PipelineBlocks {
  std::string layer;  // the first one
  Duration forward{}, backward{}, step{};
  std::int64_t weights = 0, gradients = 0, optimizer_state = 0;
  std::int64_t activations = 0;  // that forward leaves for backward; weights are none
  // Made here or before and read by the forward kernels of later layers, and the other way round in backward.
  std::int64_t output = 0, output_gradient = 0;
  std::int64_t output_kept = 0;  // of the output, what backward kernels of later layers read, too
};

struct PipelineModel {
  std::int64_t input = 0;       // what forward gets from the host,
  std::int64_t input_kept = 0;  // and of it what backward reads, too
  std::vector<PipelineBlocks> blocks;
};

// The forward kernels cut where their layer changes. A backward kernel belongs to the last block of its layer that
// is not behind that of the kernel before it, one of the optimizer to that of its layer or of what it updates.
// UserError named after the workload where the phases "forward" and "backward" or layers are not marked.
PipelineModel pipeline_model(const IterationGraph& graph);

// The blocks of a stage together; outputs and output_gradient are those of its last.
struct PipelineStage : PipelineBlocks {
  std::size_t first = 0, outer = 0;        // into PipelineModel::blocks
  std::int64_t input = 0, input_kept = 0;  // of the first one
};

// So many stages, 1 .. blocks, that the slowest takes the least time for forward and backward.
std::vector<PipelineStage> pipeline_stages(const PipelineModel& model, int stages);

// What a GPU holds of stage `stage` of a pipeline: its weights (twice where batches overlap), their gradients and
// optimizer state, and the activations of the micro-batches in flight, with what of their input backward reads; with
// `recompute` the activations of one of them, and the input of all. Workspaces, gradients of activations and inputs
// that come early aside.
std::int64_t stage_memory(PipelineKind kind, bool recompute, const std::vector<PipelineStage>& stages, int stage,
                          int micro_batches);

}  // namespace uvmsim
