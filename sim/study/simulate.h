// A plain run: from an experiment to a report, with what it is compared with.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "observe/observations.h"
#include "observe/timeline.h"
#include "plan/plan.h"
#include "report/report.h"
#include "study/experiment.h"
#include "trace/record.h"

namespace uvmsim {

class ChildProcess;
class PlanningProgress;
struct PointOutcome;

struct SimulationOptions {
  bool references = true;  // also simulate what the run is compared with (report.h), in child processes
  std::function<void(double share, Time simulated)> progress = {};  // as RunOptions::progress, of the main run
  PlanningProgress* planning = nullptr;                             // hears of the making of plans
  // Is given the trace of the main run, with the calls of its policies.
  std::function<void(const trace::Trace&)> traced = {};
  // What the main run's course is recorded in; nullptr: it is not.
  Timeline* timeline = nullptr;
  Observations* observations = nullptr;
  // Plans to run under (study/planning.h); nullptr: those of the experiment's planner, if it names one.
  const std::vector<Plan>* plans = nullptr;
};

// The trace that the experiment runs: run.warmup + run.iterations iterations, gradients synchronised if
// workload.sync_gradients says so. Where workload.calibrate asks for it, one iteration takes that long on the
// experiment's machine when everything fits; a trial in a child process finds the kernel durations for that. Where
// launches alone take about as long, kernels get all of that time. Durations of another GPU are scaled by the rooflines
// of both. Then come workload.transforms, in order. Reads
// workload.trace. Throws UserError when the trace does not fit the experiment, std::runtime_error when a child fails.
trace::Trace make_trace(const Experiment& experiment);

// `trace` changed by `transform`, as the experiment's machine and memory allow. UserError when they do not, or when
// there is nothing to change.
trace::Trace transformed(const Transform& transform, const Experiment& experiment, trace::Trace trace);

// Throws UserError where the devices, collectives or steps of `trace` do not fit the experiment's machine and run.
void check_devices(const Experiment& experiment, const trace::Trace& trace);

// `trace`, which is make_trace's, with the calls of the experiment's call policies; what they compete with is without.
// Throws UserError when a policy cannot deal with the trace.
trace::Trace with_calls(const Experiment& experiment, trace::Trace trace);

// How the experiment's trace is placed on its machine: cudaMalloc has the usable memory of the smallest GPU.
PlacementOptions placement_of(const Experiment& experiment);

// The result of the experiment alone, in this process. Call once per process. Throws as make_trace.
Result run_experiment(const Experiment& experiment);
// The same on a trace that make_trace made for an experiment with the same machine and generator.
Result run_experiment(const Experiment& experiment, trace::Trace trace);
// That trace with unlimited GPU memory, without the calls of policies.
Result run_in_core(const Experiment& experiment, trace::Trace trace);
// The same with cudaMalloc instead of managed memory (workload/cuda_malloc.h).
Result run_with_cuda_malloc(const Experiment& experiment, trace::Trace trace);
// Whether some memory of that trace is not cudaMalloc's.
bool has_managed_memory(const Experiment& experiment, const trace::Trace& trace);
// Sets all memory to cudaMalloc's.
void on_device(PlacementOptions& placement);

// What a run ends with, before any time is simulated, when CUDA IPC cannot share what it must (memory/ipc.h);
// nullopt: it may run.
std::optional<Result> refused_by_ipc(const trace::Trace& trace, const PlacementOptions& placement);

// The result whose JSON the child's work returned. Throws std::runtime_error when it did not, or failed.
Result handed_over(ChildProcess& child);
// The same of a point of several (sweep/point_workers.h); nullopt, and `error` says why, when there is none.
std::optional<Result> handed_over(const PointOutcome& outcome, std::string& error);

// Runs the experiment in this process, its references in others at the same time (before it, on a machine with one
// core). Call once per process. Throws UserError as make_trace, and std::runtime_error when a child fails.
Report simulate(const Experiment& experiment, const SimulationOptions& options);

}  // namespace uvmsim
