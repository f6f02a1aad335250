#include "workload/pipeline_schedule.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"

namespace uvmsim {
namespace {

using Kind = StageTask::Kind;

// Forward and backward in turns over micro-batches [first, outer), the last `ahead` forward ones before their turn.
void add_turns(std::vector<StageTask>& order, std::int64_t first, std::int64_t outer, int ahead, int micro_batches) {
  const std::int64_t before = std::min<std::int64_t>(ahead, outer - first);
  for (std::int64_t i = first; i < first + before; ++i) order.push_back({Kind::Forward, i});
  for (std::int64_t i = first; i < outer; ++i) {
    if (i + before < outer) order.push_back({Kind::Forward, i + before});
    order.push_back({Kind::Backward, i});
    if ((i + 1) % micro_batches == 0) order.push_back({Kind::Step, i});
  }
}

void add_all_forward_first(std::vector<StageTask>& order, std::int64_t first, std::int64_t outer) {
  for (std::int64_t i = first; i < outer; ++i) order.push_back({Kind::Forward, i});
  for (std::int64_t i = outer; i-- > first;) order.push_back({Kind::Backward, i});
  order.push_back({Kind::Step, outer - 1});
}

// A GPU's part in a pipeline: stages `gpu`, `gpu` + `gpus`, ... in turns.
std::vector<std::pair<std::size_t, StageTask>> gpu_order(PipelineKind kind, std::size_t stages, std::size_t gpu,
                                                         std::size_t gpus, int micro_batches, int batches) {
  std::vector<std::pair<std::size_t, StageTask>> order;
  if (stages == gpus) {
    for (const StageTask& task :
         stage_order(kind, static_cast<int>(stages), static_cast<int>(gpu), micro_batches, batches))
      order.emplace_back(gpu, task);
    return order;
  }
  const auto is_forward = [](const StageTask& task) { return task.kind == Kind::Forward; };
  for (int batch = 0; batch < batches; ++batch) {
    std::vector<StageTask> tasks;
    add_all_forward_first(tasks, std::int64_t{batch} * micro_batches, std::int64_t{batch + 1} * micro_batches);
    const auto backward = std::ranges::find_if_not(tasks, is_forward);
    for (std::size_t s = gpu; s < stages; s += gpus)
      for (auto task = tasks.begin(); task != backward; ++task) order.emplace_back(s, *task);
    for (std::size_t s = stages - gpus + gpu; s < stages; s -= gpus)  // wraps below 0
      for (auto task = backward; task != tasks.end(); ++task) order.emplace_back(s, *task);
  }
  return order;
}

// The stages in time: each task starts once its GPU is free and what it needs has come.
class Pipeline {
 public:
  Pipeline(PipelineKind kind, const std::vector<StageTimes>& stages, int micro_batches, int batches, int packs)
      : kind_(kind), batches_(batches), gpus_(stages.size() / static_cast<std::size_t>(packs)) {
    const auto all = static_cast<std::size_t>(micro_batches * batches);
    for (std::size_t s = 0; s < stages.size(); ++s) {
      Stage& stage = stages_.emplace_back();
      stage.times = stages[s];
      stage.inputs.assign(all, s == 0 ? Time{} : kNever);
      stage.gradients.assign(all, kNever);
    }
    for (std::size_t g = 0; g < gpus_.size(); ++g)
      gpus_[g].order = gpu_order(kind, stages.size(), g, gpus_.size(), micro_batches, batches);
  }

  PipelineRun run() {
    for (bool any = true; any;) {
      any = false;
      for (Gpu& gpu : gpus_)
        while (may_run(gpu)) run_next(gpu), any = true;
    }
    for (const Gpu& gpu : gpus_) UVMSIM_CHECK(gpu.next == gpu.order.size(), "stages wait for each other");
    for (const Stage& stage : stages_) run_.in_flight.push_back(stage.most_in_flight);
    std::ranges::stable_sort(run_.tasks, {}, &ScheduledTask::start);
    const int filling = batches_ / 2;
    run_.batch = (end_of(batches_) - end_of(filling)) / (batches_ - filling);
    if (kind_ == PipelineKind::DoubleBuffered)
      for (const Stage& stage : stages_) run_.batch = std::max(run_.batch, stage.times.all_reduce);
    return std::move(run_);
  }

 private:
  struct Stage {
    StageTimes times;
    std::vector<Time> inputs, gradients;  // by micro-batch: when they come
    std::vector<Time> steps;              // their ends
    Time last_backward{};
    int in_flight = 0, most_in_flight = 0;
  };
  struct Gpu {
    std::vector<std::pair<std::size_t, StageTask>> order;  // of which stage
    std::size_t next = 0;
    Time free{};
    Time forward_link{}, backward_link{};  // when what was sent last is there
  };

  bool is_last(std::size_t s) const { return s + 1 == stages_.size(); }

  bool may_run(const Gpu& gpu) const {
    if (gpu.next == gpu.order.size()) return false;
    const auto& [s, task] = gpu.order[gpu.next];
    return task.kind == Kind::Step || ready(s, task) != kNever;
  }

  // When what the task needs of other GPUs is there.
  Time ready(std::size_t s, const StageTask& task) const {
    if (task.kind == Kind::Step) return Time{};
    const Stage& stage = stages_[s];
    return (task.kind == Kind::Forward ? stage.inputs : stage.gradients)[static_cast<std::size_t>(task.micro_batch)];
  }

  void run_next(Gpu& gpu) {
    const auto [s, task] = gpu.order[gpu.next++];
    Stage& stage = stages_[s];
    const auto at = static_cast<std::size_t>(task.micro_batch);
    const Time start = std::max(gpu.free, ready(s, task));
    run_.tasks.push_back({static_cast<int>(s), task, start});
    if (task.kind == Kind::Forward) {
      gpu.free = start + stage.times.forward;
      stage.most_in_flight = std::max(stage.most_in_flight, ++stage.in_flight);
      if (is_last(s))
        stage.gradients[at] = gpu.free;
      else
        stages_[s + 1].inputs[at] = sent(gpu.forward_link, gpu.free, stage.times.send_forward);
    } else if (task.kind == Kind::Backward) {
      gpu.free = stage.last_backward = start + stage.times.backward;
      --stage.in_flight;
      if (s > 0) stages_[s - 1].gradients[at] = sent(gpu.backward_link, gpu.free, stage.times.send_backward);
    } else {
      if (kind_ != PipelineKind::DoubleBuffered)
        gpu.free = std::max(gpu.free, stage.last_backward + stage.times.all_reduce);
      gpu.free += stage.times.step;
      stage.steps.push_back(gpu.free);
    }
  }

  static Time sent(Time& link, Time ready, Duration takes) { return link = std::max(link, ready) + takes; }

  Time end_of(int batches) const {
    Time end{};
    if (batches == 0) return end;
    for (const Stage& stage : stages_) end = std::max(end, stage.steps[static_cast<std::size_t>(batches) - 1]);
    return end;
  }

  const PipelineKind kind_;
  const int batches_;
  std::vector<Stage> stages_;
  std::vector<Gpu> gpus_;
  PipelineRun run_;
};

// Where stages end when each takes as much as stays within `most` but leaves one for every stage behind it; nullopt:
// they are not enough.
std::optional<std::vector<std::size_t>> ends_within(const std::vector<Duration>& work, std::size_t stages,
                                                    Duration most) {
  std::vector<std::size_t> ends;
  std::size_t next = 0;
  for (std::size_t left = stages; left-- > 0;) {
    Duration taken = work[next++];
    if (taken > most) return std::nullopt;
    while (next + left < work.size() && taken + work[next] <= most) taken += work[next++];
    ends.push_back(next);
  }
  return next == work.size() ? std::optional(std::move(ends)) : std::nullopt;
}

}  // namespace

std::vector<StageTask> stage_order(PipelineKind kind, int stages, int stage, int micro_batches, int batches) {
  std::vector<StageTask> order;
  const std::int64_t all = std::int64_t{micro_batches} * batches;
  const int ahead = kind == PipelineKind::ModelParallel ? 0 : stages - stage - 1;
  if (kind == PipelineKind::DoubleBuffered) {
    add_turns(order, 0, all, ahead, micro_batches);
    return order;
  }
  for (std::int64_t first = 0; first < all; first += micro_batches)
    if (kind == PipelineKind::GPipe)
      add_all_forward_first(order, first, first + micro_batches);
    else
      add_turns(order, first, first + micro_batches, ahead, micro_batches);
  return order;
}

int micro_batches_in_flight(PipelineKind kind, int stages, int stage, int micro_batches) {
  switch (kind) {
    case PipelineKind::ModelParallel:
      return 1;
    case PipelineKind::GPipe:
      return micro_batches;
    case PipelineKind::Flush:
      return std::min(micro_batches, stages - stage);
    case PipelineKind::DoubleBuffered:
      return stages - stage;
  }
  UVMSIM_CHECK(false, "no kind of pipeline");
}

PipelineRun run_pipeline(PipelineKind kind, const std::vector<StageTimes>& stages, int micro_batches, int batches,
                         int packs) {
  UVMSIM_CHECK(packs == 1 || kind == PipelineKind::GPipe, "stages in turns are GPipe's");
  return Pipeline(kind, stages, micro_batches, batches, packs).run();
}

std::vector<std::size_t> cut_evenly(const std::vector<Duration>& work, int stages) {
  UVMSIM_CHECK(stages > 0 && std::cmp_less_equal(stages, work.size()), "a stage has at least one element");
  const auto wanted = static_cast<std::size_t>(stages);
  Duration enough{}, too_little{-1};
  for (const Duration one : work) enough += one;
  while (enough - too_little > Duration{1}) {
    const Duration middle = too_little + (enough - too_little) / 2;
    (ends_within(work, wanted, middle) ? enough : too_little) = middle;
  }
  return *ends_within(work, wanted, enough);
}

double flush_bubble(int stages, int micro_batches) {
  return static_cast<double>(stages - 1) / static_cast<double>(micro_batches + stages - 1);
}

}  // namespace uvmsim
