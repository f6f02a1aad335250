#include "study/simulate.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "base/join.h"
#include "base/quantity.h"
#include "base/user_error.h"
#include "base/version.h"
#include "engine/run.h"
#include "memory/allocator.h"
#include "memory/ipc.h"
#include "observe/observer_list.h"
#include "plan/lower.h"
#include "report/json.h"
#include "study/child_process.h"
#include "study/plan_program.h"
#include "study/planned_run.h"
#include "study/planning.h"
#include "study/setup.h"
#include "study/sweep/point_workers.h"
#include "study/watched_tensors.h"
#include "trace/checker.h"
#include "trace/communicators.h"
#include "trace/digest.h"
#include "trace/header.h"
#include "trace/reader.h"
#include "workload/calibrate.h"
#include "workload/cuda_malloc.h"
#include "workload/repeat.h"
#include "workload/retarget.h"
#include "workload/sync_gradients.h"
#include "workload/winograd.h"

namespace uvmsim {
namespace {

// A workload that is too large in one of the ways that a trace file may not be either: in what its parameters make of
// it, or repeated.
void check_sizes(const Experiment& experiment, const trace::Trace& trace) {
  std::vector<InputError> errors = trace::check_trace(trace);
  for (InputError& error : errors) error.place = "/workload, " + error.place;
  if (!errors.empty()) throw UserError(experiment.name, std::move(errors));
}

std::vector<std::string> phases_of(const trace::Trace& trace) {
  std::vector<std::string> phases;
  for (const trace::Record& record : trace.records)
    if (const auto* phase = std::get_if<trace::Phase>(&record)) {
      const std::string& name = trace.strings[static_cast<std::size_t>(phase->name)];
      if (std::ranges::find(phases, name) == phases.end()) phases.push_back(name);
    }
  return phases;
}

// What the configuration says of kinds of tensors and of phases that the trace does not have.
void check_names(const Experiment& experiment, const trace::Trace& trace) {
  const PlacementOptions& placement = experiment.workload.placement;
  std::vector<InputError> errors;
  const auto check = [&](const std::string& place, const char* what, const std::string& name,
                         const std::vector<std::string>& known) {
    if (std::ranges::find(known, name) != known.end()) return;
    errors.push_back({place, "the workload has no " + std::string(what) + " \"" + name + "\"" +
                                 did_you_mean(name, known, ", but " + joined(known))});
  };
  std::istringstream kinds(placement.ipc_kinds);
  for (std::string kind; std::getline(kinds, kind, ',');)
    check("/workload/ipc_kinds", "kind of tensors", kind, trace.header.kinds);
  if (!placement.stages.empty()) {
    const std::vector<std::string> phases = phases_of(trace);
    for (std::size_t i = 0; i < placement.stages.size(); ++i)
      check("/workload/stages/" + std::to_string(i) + "/phase", "phase", placement.stages[i].phase, phases);
  }
  if (!errors.empty()) throw UserError(experiment.name, std::move(errors));
}

// Something to choose from for workload.cudnn_benchmark.
void check_variants(const Experiment& experiment, trace::Trace& trace) {
  std::vector<InputError> errors;
  if (experiment.plan.parameters != nullptr)
    errors.push_back({"/workload/cudnn_benchmark", "a plan chooses the launch variants of kernels itself"});
  if (trace.variants.empty() && add_winograd_variants(trace) == 0)
    errors.push_back({"/workload/cudnn_benchmark",
                      "there is nothing to choose: the workload has no kernel with launch variants and no 3x3 "
                      "convolution"});
  if (!errors.empty()) throw UserError(experiment.name, std::move(errors));
}

// Device n is GPU n.
IndexedVector<DeviceOrdinal, GpuIndex> first_gpus(std::size_t devices) {
  IndexedVector<DeviceOrdinal, GpuIndex> gpus(devices);
  std::iota(gpus.begin(), gpus.end(), GpuIndex{});
  return gpus;
}

// One process per GPU and the same program for all, or one process over all GPUs.
std::vector<Process> processes_of(const Experiment& experiment, const Program& program) {
  Process process{&program, first_gpus(experiment.machine.gpus.size())};
  process.enables_peers = experiment.workload.enable_peers;
  if (!experiment.workload.data_parallel) return {process};
  std::vector<Process> processes(experiment.machine.gpus.size(), process);
  for (const GpuIndex gpu : experiment.machine.gpus.indices())
    processes[static_cast<std::size_t>(gpu.value)].gpus = {gpu};
  return processes;
}

// The gate that the call policies ask for: one policy at most does.
std::string gate_of(const Experiment& experiment) {
  std::string gate;
  for (const NamedCallPolicy& calls : experiment.workload.calls) gate += calls.policy->gate();
  return gate;
}

// What a run is recorded in: as in SimulationOptions.
struct Recording {
  Timeline* timeline = nullptr;
  Observations* observations = nullptr;
};

// Places `trace`, forgets it, and runs it on all GPUs.
Result run_placed(const Experiment& experiment, trace::Trace trace, PlacementOptions placement, RunOptions options,
                  Recording recording = {}) {
  if (std::optional<Result> refused = refused_by_ipc(trace, placement)) return *std::move(refused);
  if (options.unlimited_memory) placement.device_capacity = {};
  placement.keep_tensors = recording.observations != nullptr;
  const Program program = place(trace, placement);
  trace = {};
  options.warmup = experiment.run.warmup;
  options.audit = experiment.run.audit;
  options.process_stagger = experiment.run.process_stagger;
  options.from_host = experiment.run.from_host && !options.unlimited_memory;  // references have it on the GPU
  const std::vector<Process> processes = processes_of(experiment, program);
  ObserverList observers;
  std::optional<ObservationRecorder> recorder;
  if (recording.timeline != nullptr) observers.add(*recording.timeline);
  if (recording.observations != nullptr)
    observers.add(recorder.emplace(watched_tensors(program, processes.front().gpus.front())));
  if (!observers.empty()) options.observer = &observers;
  Result result = run(experiment.machine, processes, options);
  if (recorder) *recording.observations = recorder->observations();
  return result;
}

// What a run is compared with, each in a process of its own, which uses up its own trace. Without managed memory both
// are the same.
class ReferenceRuns {
 public:
  ReferenceRuns(const Experiment& experiment, trace::Trace& trace, bool planned) {
    const bool explicit_memory = planned && experiment.workload.placement.memory == "device";
    in_core_run_.emplace([&] {
      if (explicit_memory) trace = as_explicit_memory(std::move(trace));
      return to_json(run_in_core(experiment, std::move(trace)));
    });
    if (!explicit_memory && has_managed_memory(experiment, trace))
      cuda_malloc_run_.emplace([&] { return to_json(run_with_cuda_malloc(experiment, std::move(trace))); });
    if (std::thread::hardware_concurrency() < 2) wait();
  }

  // Once they are done.
  void wait() {
    if (in_core_) return;
    in_core_ = handed_over(*in_core_run_);
    cuda_malloc_ = cuda_malloc_run_ ? handed_over(*cuda_malloc_run_) : in_core_;
  }
  References results() const { return {&*cuda_malloc_, &*in_core_}; }
  std::int64_t in_core_peak_rss_bytes() const { return in_core_run_->peak_rss_bytes(); }

 private:
  std::optional<ChildProcess> in_core_run_, cuda_malloc_run_;
  std::optional<Result> in_core_, cuda_malloc_;
};

Result run_trace(const Experiment& experiment, trace::Trace trace, RunOptions options, Recording recording = {}) {
  return run_placed(experiment, std::move(trace), placement_of(experiment), std::move(options), recording);
}

std::vector<InputHash> input_hashes(const Experiment& experiment) {
  trace::Digest config;
  config.add(to_json(experiment.resolved, false));
  std::vector<InputHash> hashes = {{.name = "config", .fnv1a64 = config.hex()}};
  if (!experiment.workload.trace.empty()) {
    std::ifstream file(experiment.workload.trace, std::ios::binary);
    hashes.push_back({.name = "trace", .fnv1a64 = trace::digest_of_content(file).hex()});
  }
  return hashes;
}

// Whether replicas that drift apart never meet again.
bool drifts(const Experiment& experiment, const trace::Trace& trace) {
  return experiment.workload.data_parallel && experiment.machine.gpus.size() > 1 &&
         std::ranges::none_of(trace.records,
                              [](const trace::Record& r) { return std::holds_alternative<trace::CollectiveOp>(r); });
}

// Values that somebody judged or computed instead of measuring them, the driver's version first.
// GPUs of the machine for which the program has nothing.
std::size_t idle_gpus(const Experiment& experiment, const trace::Trace& trace) {
  const std::size_t used = trace::device_count(trace.header), all = experiment.machine.gpus.size();
  return experiment.workload.data_parallel || used > all ? 0 : all - used;
}

std::vector<Assumption> assumptions_of(const Experiment& experiment, const trace::Trace& trace) {
  const std::string driver = "/driver/version", counters = "/driver/uvm_perf_access_counter_migration_enable";
  std::vector<Assumption> assumptions;
  const std::string& version = experiment.machine.driver.version;
  const DriverTraits traits = driver_traits(version);
  if (traits.assumed)
    assumptions.push_back({.key = driver,
                           .value = "\"" + version + "\"",
                           .status = "assumed",
                           .source = fmt::format("driver {} behaves as {}, the oldest whose source was read (assumed)",
                                                 version, traits.major)});
  if (experiment.machine.driver.uvm_perf_access_counter_migration_enable > 0)
    assumptions.push_back({.key = counters,
                           .value = "1",
                           .status = "assumed",
                           .source = traits.drops_notifications && experiment.machine.host.page_size.value == kPageBytes
                                         ? "access counters migrate pages here; hypothetical on x86, where driver " +
                                               version + " drops their notifications"
                                         : "access counters migrate pages as driver 595 does where it serves their "
                                           "notifications"});
  if (const std::size_t idle = idle_gpus(experiment, trace))
    assumptions.push_back(
        {.key = "/workload/data_parallel",
         .value = "false",
         .status = "assumed",
         .source = fmt::format("{} of {} GPUs have nothing to do: the program runs on the others; with "
                               "workload.data_parallel=true a copy of it runs on each",
                               idle, experiment.machine.gpus.size())});
  if (drifts(experiment, trace))
    assumptions.push_back({.key = "/run/process_stagger",
                           .value = "\"" + to_text(experiment.run.process_stagger) + "\"",
                           .status = "assumed",
                           .source = "replicas never synchronise, so that whether their copies meet on shared links "
                                     "rests on how far apart they start (run.process_stagger): synchronise them "
                                     "(workload.sync_gradients), or take the mean over several"});
  for (const ResolvedValue& value : experiment.resolved)
    if ((value.status == "assumed" || value.status == "scaled") && value.pointer != driver)
      assumptions.push_back(
          {.key = value.pointer, .value = value.json, .status = value.status, .source = value.source});
  return assumptions;
}

// Scales kernel durations so that an iteration takes `target` when everything fits and nobody else is on the machine.
// What it takes besides its kernels (launches, explicit copies) hardly depends on them: one trial measures it. Where
// that is most of the time, the host is the bottleneck and `target` is out of reach: then it is the time of the
// kernels.
void calibrate(const Experiment& experiment, trace::Trace& trace, Duration target) {
  scale_durations(trace, target);
  const auto gpus = first_gpus(trace::device_count(trace.header));
  ChildProcess trial([&] {
    PlacementOptions placement = placement_of(experiment);
    placement.device_capacity = {};
    const Program program = place(trace, placement);
    const Process process{&program, gpus};
    return to_json(run(experiment.machine, {&process, 1},
                       {.warmup = experiment.run.warmup, .unlimited_memory = true, .progress = {}}));
  });
  const Result result = handed_over(trial);
  if (result.outcome != Outcome::Completed) return;  // the run itself will say so
  const Duration beside = from_seconds(result.duration_s) - target;
  const Duration kernels = target - beside * static_cast<std::int64_t>(gpus.size());
  if (kernels > target / 2) scale_durations(trace, kernels);
}

}  // namespace

std::optional<Result> refused_by_ipc(const trace::Trace& trace, const PlacementOptions& placement) {
  const std::optional<std::string> why = ipc_refusal(trace, placement);
  if (!why) return std::nullopt;
  Result result;
  result.outcome = Outcome::IpcRefused;
  result.detail = *why;
  return result;
}

Result handed_over(ChildProcess& child) {
  const std::optional<Result> result = result_from_json(child.wait());
  if (!result) throw std::runtime_error("a child process handed over no result");
  return *result;
}

std::optional<Result> handed_over(const PointOutcome& outcome, std::string& error) {
  std::optional<Result> result = result_from_json(outcome.report);
  if (!result) error = outcome.error.empty() ? "the simulation handed over no result" : outcome.error;
  return result;
}

void check_devices(const Experiment& experiment, const trace::Trace& trace) {
  const std::size_t devices = trace::device_count(trace.header);
  const std::size_t gpus = experiment.machine.gpus.size();
  std::vector<InputError> errors;
  if (devices > gpus)
    errors.push_back({"/machine/gpus", fmt::format("the trace runs on {} devices, the machine has {}", devices, gpus)});
  if (devices > 1 && experiment.workload.data_parallel)
    errors.push_back({"/workload/data_parallel",
                      fmt::format("replicas take one GPU each, and the trace runs on {} devices", devices)});
  if (experiment.run.iterations % experiment.workload.sync.every != 0)
    errors.push_back(
        {"/run/iterations", fmt::format("expected a multiple of workload.sync_every, {}: one of so many takes a step",
                                        experiment.workload.sync.every)});
  if (errors.empty()) {
    const int replicas = experiment.workload.data_parallel ? static_cast<int>(gpus) : 1;
    const char* place = experiment.workload.trace.empty() ? "/workload" : "/workload/trace";
    for (std::string& why : trace::collective_errors(trace, replicas)) errors.push_back({place, std::move(why)});
  }
  if (!errors.empty()) throw UserError(experiment.name, std::move(errors));
}

trace::Trace transformed(const Transform& transform, const Experiment& experiment, trace::Trace trace) {
  const auto refuse = [&](const std::string& why) {
    throw UserError(experiment.name, {{"/workload/transforms", why}});
  };
  const WorkloadConfig& workload = experiment.workload;
  if (transform.needs() == Transform::Needs::DeviceMemory && workload.placement.memory != "device")
    refuse("expected workload.memory to be device: the program moves tensors itself");
  if (transform.needs() == Transform::Needs::Replicas &&
      !(workload.data_parallel && experiment.machine.gpus.size() > 1))
    refuse("expected workload.data_parallel and 2 or more GPUs: there is nobody to agree with on gradients");
  return transform.apply_on(std::move(trace), experiment.machine.gpus.front());
}

trace::Trace make_trace(const Experiment& experiment) {
  const WorkloadConfig& workload = experiment.workload;
  const int iterations = experiment.run.warmup + experiment.run.iterations;
  if (workload.parameters) workload.parameters->run_on(experiment.machine.gpus.front());
  trace::Trace trace = workload.parameters ? workload.parameters->generate(iterations)
                                           : repeat_last_iteration(trace::read_trace(workload.trace), iterations);
  check_devices(experiment, trace);
  if (workload.in_core.given())
    calibrate(experiment, trace, iteration_of(workload.in_core, trace.header, "/workload/calibrate/in_core"));
  if (workload.measured_on) retarget(trace, *workload.measured_on, experiment.machine.gpus.front());
  if (workload.sync_gradients) trace = sync_gradients(trace, workload.sync);
  for (const auto& transform : workload.transforms) trace = transformed(*transform, experiment, std::move(trace));
  if (!workload.transforms.empty()) check_devices(experiment, trace);
  if (workload.placement.cudnn_benchmark) check_variants(experiment, trace);
  check_sizes(experiment, trace);
  check_names(experiment, trace);
  return trace;
}

PlacementOptions placement_of(const Experiment& experiment) {
  const auto smaller = [](const GpuSpec& a, const GpuSpec& b) { return a.usable_memory < b.usable_memory; };
  const GpuSpec& gpu = std::ranges::min(experiment.machine.gpus, smaller);
  PlacementOptions placement = experiment.workload.placement;
  placement.device_capacity = gpu.usable_memory;
  placement.gpu_memory = gpu.memory;
  // Alone in its batch, whose fixed part is not counted: less than faults take.
  const DriverCosts& costs = gpu.driver_costs;
  placement.populate_chunk = costs.block + costs.new_chunk + costs.populate_page * (kBlockBytes / kPageBytes);
  return placement;
}

trace::Trace with_calls(const Experiment& experiment, trace::Trace trace) {
  if (experiment.workload.calls.empty()) return trace;
  CallSetting setting;
  setting.placement = placement_of(experiment);
  setting.gpu_memory = setting.placement.device_capacity;
  setting.has_discard = driver_traits(experiment.machine.driver.version).has_discard;
  std::vector<InsertedCall> calls;
  for (const NamedCallPolicy& policy : experiment.workload.calls)
    std::ranges::move(policy.policy->calls(trace, setting), std::back_inserter(calls));
  return insert_calls(std::move(trace), std::move(calls));
}

Result run_experiment(const Experiment& experiment) { return run_experiment(experiment, make_trace(experiment)); }

Result run_experiment(const Experiment& experiment, trace::Trace trace) {
  if (experiment.plan.parameters != nullptr) {
    const std::vector<Plan> plans = make_plans(experiment, trace).plans;
    return run_planned(experiment, planned_program(experiment, std::move(trace), plans), plans,
                       {.progress = told_share()});
  }
  return run_trace(experiment, with_calls(experiment, std::move(trace)),
                   {.prefetch_gate = gate_of(experiment), .progress = told_share()});
}

Result run_in_core(const Experiment& experiment, trace::Trace trace) {
  return run_trace(experiment, std::move(trace), {.unlimited_memory = true, .progress = told_share()});
}

Result run_with_cuda_malloc(const Experiment& experiment, trace::Trace trace) {
  PlacementOptions placement = placement_of(experiment);
  on_device(placement);
  return run_placed(experiment, with_cuda_malloc(std::move(trace)), std::move(placement),
                    {.unlimited_memory = true, .progress = told_share()});
}

bool has_managed_memory(const Experiment& experiment, const trace::Trace& trace) {
  return experiment.workload.placement.memory != "device" ||
         std::ranges::any_of(trace.records, [](const trace::Record& record) {
           const auto* alloc = std::get_if<trace::Alloc>(&record);
           return alloc != nullptr && alloc->space == static_cast<std::int8_t>(trace::Space::Managed);
         });
}

void on_device(PlacementOptions& placement) {
  placement.memory = "device";
  placement.prefetch_on_alloc = false;
  for (AllocatorStage& stage : placement.stages) stage.memory = "device";
}

Report simulate(const Experiment& experiment, const SimulationOptions& options) {
  const auto started = std::chrono::steady_clock::now();
  trace::Trace trace = make_trace(experiment);
  const std::string workload = trace.header.generator;
  Setup setup = setup_of(experiment, trace);
  std::vector<Assumption> assumptions = assumptions_of(experiment, trace);
  std::optional<std::vector<Plan>> plans;
  if (options.plans != nullptr) {
    check_plans(experiment, trace, *options.plans);
    plans = *options.plans;
  } else if (experiment.plan.parameters != nullptr) {
    plans = make_plans(experiment, trace, options.planning).plans;
  }

  std::optional<ReferenceRuns> references;
  if (options.references) references.emplace(experiment, trace, plans.has_value());
  if (plans) trace = planned_program(experiment, std::move(trace), *plans);
  trace = with_calls(experiment, std::move(trace));
  if (options.traced) options.traced(trace);
  const Result result = plans ? run_planned(experiment, std::move(trace), *plans,
                                            {.progress = options.progress, .observer = options.timeline})
                              : run_trace(experiment, std::move(trace),
                                          {.prefetch_gate = gate_of(experiment), .progress = options.progress},
                                          {options.timeline, options.observations});
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - started;
  if (references) references->wait();

  return make_report(result, references ? references->results() : References{},
                     {.version = kVersion,
                      .experiment = experiment.name,
                      .description = experiment.description,
                      .workload = workload,
                      .setup = std::move(setup),
                      .inputs = input_hashes(experiment),
                      .assumptions = std::move(assumptions),
                      .host = {.wall_s = wall.count(),
                               .peak_rss_bytes = peak_rss_bytes(),
                               .in_core_peak_rss_bytes = references ? references->in_core_peak_rss_bytes() : 0}});
}

}  // namespace uvmsim
