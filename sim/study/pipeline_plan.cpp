#include "study/pipeline_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/user_error.h"
#include "machine/link_tree.h"
#include "report/view_input.h"
#include "study/simulate.h"

namespace uvmsim {
namespace {

constexpr PipelineKind kKinds[] = {PipelineKind::ModelParallel, PipelineKind::GPipe, PipelineKind::Flush,
                                   PipelineKind::DoubleBuffered};

[[noreturn]] void refuse(const Experiment& experiment, const std::string& place, const std::string& why) {
  throw UserError(experiment.name, {{place, why}});
}

// The rate of the slowest link between two GPUs, alone on it.
BytesPerSecond rate_between(const Machine& machine, int from, int to) {
  BytesPerSecond slowest{};
  for (const LinkHop& hop : copy_path(machine.links, gpu_node(GpuIndex{from}), gpu_node(GpuIndex{to})))
    if (slowest.value == 0 || hop.rate() < slowest) slowest = hop.rate();
  return slowest;
}

class Choices {
 public:
  Choices(const Experiment& experiment, const PipelineModel& model) : machine_(experiment.machine), model_(model) {}

  PipelineChoice evaluate(PipelineKind kind, bool recompute, int width, int depth, int micro_batches) const {
    const std::vector<PipelineStage> stages = pipeline_stages(model_, depth);
    PipelineChoice choice{
        .kind = kind, .recompute = recompute, .width = width, .depth = depth, .micro_batches = micro_batches};
    choice.batch = run_pipeline(kind, times_of(stages, recompute, width), micro_batches).batch;
    choice.bubble = 1 - computed_s(stages, micro_batches) / (depth * seconds(choice.batch));
    for (int s = 0; s < depth; ++s) {
      const std::int64_t bytes = stage_memory(kind, recompute, stages, s, micro_batches);
      if (bytes > choice.memory) choice.memory = bytes, choice.fullest = s;
    }
    choice.fits = choice.memory <= machine_.gpus.front().usable_memory.value;
    return choice;
  }

 private:
  // Stage s of pipeline r is on GPU r * depth + s.
  std::vector<StageTimes> times_of(const std::vector<PipelineStage>& stages, bool recompute, int width) const {
    const int depth = static_cast<int>(stages.size());
    std::vector<StageTimes> times;
    for (int s = 0; s < depth; ++s) {
      const PipelineStage& stage = stages[static_cast<std::size_t>(s)];
      StageTimes& of = times.emplace_back();
      of.forward = stage.forward;
      of.backward = stage.backward + (recompute ? stage.forward : Duration{});
      of.step = stage.step;
      if (s + 1 < depth) of.send_forward = send(s, s + 1, stage.output);
      if (s > 0) of.send_backward = send(s, s - 1, stages[static_cast<std::size_t>(s) - 1].output_gradient);
      for (int r = 0; r < width && width > 1; ++r) {
        const std::int64_t bytes = 2 * (width - 1) * stage.gradients / width;
        of.all_reduce = std::max(of.all_reduce, send(r * depth + s, (r + 1) % width * depth + s, bytes));
      }
    }
    return times;
  }

  Duration send(int from, int to, std::int64_t bytes) const {
    return machine_.gpus.front().copy.method_latency + transfer_time(Bytes{bytes}, rate_between(machine_, from, to));
  }

  // Of one pipeline and batch, recomputation aside.
  static double computed_s(const std::vector<PipelineStage>& stages, int micro_batches) {
    double all = 0;
    for (const PipelineStage& stage : stages)
      all += micro_batches * seconds(stage.forward + stage.backward) + seconds(stage.step);
    return all;
  }

  const Machine& machine_;
  const PipelineModel& model_;
};

PipelineModel model_of(const Experiment& experiment, PipelinePlan& plan) {
  const trace::Trace trace = make_trace(experiment);
  if (trace.header.devices.size() > 1) refuse(experiment, "/workload", "it runs on several devices already");
  plan.micro_batch = std::llround(trace.header.samples);
  plan.sample_unit = trace.header.sample_unit;
  if (plan.micro_batch <= 0) refuse(experiment, "/workload", "it counts no samples: a batch of it is not known");
  const ViewInput input(trace);
  if (input.iterations.empty()) refuse(experiment, "/workload", "it has no kernels");
  return pipeline_model(input.iterations.front().graph());
}

bool better(const PipelineChoice& a, const PipelineChoice& b) {
  return std::tuple(!a.fits, -a.samples_per_s, a.memory) < std::tuple(!b.fits, -b.samples_per_s, b.memory);
}

}  // namespace

std::string name_of(PipelineKind kind) {
  switch (kind) {
    case PipelineKind::ModelParallel:
      return "model_parallel";
    case PipelineKind::GPipe:
      return "gpipe";
    case PipelineKind::Flush:
      return "1f1b";
    case PipelineKind::DoubleBuffered:
      break;
  }
  return "pipedream_2bw";
}

PipelinePlan pipeline_plan(const Experiment& experiment, const PipelineOptions& options) {
  const int all = static_cast<int>(experiment.machine.gpus.size());
  PipelinePlan plan;
  plan.experiment = experiment.name;
  plan.description = experiment.description;
  plan.settings = experiment.overrides;
  plan.gpus = options.gpus == 0 ? all : options.gpus;
  plan.usable_memory = experiment.machine.gpus.front().usable_memory;
  if (plan.gpus > all)
    refuse(experiment, "--gpus", std::to_string(plan.gpus) + " GPUs, the machine has " + std::to_string(all));
  const PipelineModel model = model_of(experiment, plan);
  plan.layers = model.blocks.size();
  for (const PipelineBlocks& block : model.blocks) plan.weights += block.weights;
  plan.batch = options.batch == 0 ? 4 * plan.micro_batch * plan.gpus : options.batch;
  const Choices choices(experiment, model);
  for (int depth = 1; depth <= plan.gpus && std::cmp_less_equal(depth, model.blocks.size()); ++depth) {
    const int width = plan.gpus / depth;
    const std::int64_t micro_batches = plan.batch / (plan.micro_batch * width);
    if (plan.gpus % depth != 0 || micro_batches * plan.micro_batch * width != plan.batch) continue;
    for (const PipelineKind kind : kKinds)
      for (const bool recompute : {false, true}) {
        if (kind == PipelineKind::DoubleBuffered && micro_batches < depth) continue;  // two versions are not enough
        plan.choices.push_back(choices.evaluate(kind, recompute, width, depth, static_cast<int>(micro_batches)));
        plan.choices.back().samples_per_s = static_cast<double>(plan.batch) / seconds(plan.choices.back().batch);
      }
  }
  if (plan.choices.empty())
    refuse(experiment, "--batch",
           std::to_string(plan.batch) + " samples make no whole micro-batches of " + std::to_string(plan.micro_batch) +
               " for any number of pipelines of " + std::to_string(plan.gpus) + " GPUs");
  std::ranges::stable_sort(plan.choices, better);
  return plan;
}

}  // namespace uvmsim
