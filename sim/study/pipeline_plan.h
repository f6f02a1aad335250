// How to cut a model into a pipeline over several GPUs: every width, depth and schedule, with the time of a batch and
// the memory of the fullest GPU. As the planner of PipeDream-2BW (Narayanan et al., Memory-Efficient Pipeline-Parallel
// DNN Training, ICML 2021, section 4), but with the schedule in time instead of a formula for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/pipeline_stages.h"
#include "study/experiment.h"

namespace uvmsim {

struct PipelineOptions {
  int gpus = 0;            // 0: all of the machine
  std::int64_t batch = 0;  // samples between two steps; 0: four iterations of the workload for each GPU
};

// `width` pipelines of `depth` stages side by side.
struct PipelineChoice {
  PipelineKind kind = PipelineKind::Flush;
  bool recompute = false;
  int width = 1, depth = 1;
  int micro_batches = 1;  // of each pipeline
  Duration batch{};       // time of one
  double samples_per_s = 0;
  double bubble = 0;        // share of the GPUs' time in which they compute nothing
  std::int64_t memory = 0;  // of the fullest GPU, bytes
  int fullest = 0;          // its stage
  bool fits = false;
};

struct PipelinePlan {
  std::string experiment, description;
  std::vector<std::string> settings;  // KEY=VALUE, of the user
  std::string sample_unit;
  int gpus = 1;
  std::int64_t batch = 0, micro_batch = 0;  // samples
  std::size_t layers = 0;
  std::int64_t weights = 0;             // bytes
  Bytes usable_memory{};                // of a GPU
  std::vector<PipelineChoice> choices;  // those that fit first, the fastest first
};

// "gpipe", ...
std::string name_of(PipelineKind kind);

// The iteration of the workload is one micro-batch, whose kernels take what they take when everything fits. Each GPU
// passes on to the next by the links between them, and replicas of a stage sum their gradients in a ring, as if nobody
// else used these links. UserError when the workload counts no samples, runs on several devices, cannot be cut, or the
// batch makes no whole micro-batches for any number of pipelines.
PipelinePlan pipeline_plan(const Experiment& experiment, const PipelineOptions& options);

std::string to_text(const PipelinePlan& plan);
// One JSON object; the same input gives the same bytes.
std::string to_json(const PipelinePlan& plan);

}  // namespace uvmsim
