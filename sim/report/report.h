// What a run reports: the result and what is computed from it, in the form of the JSON that `--json` prints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "metrics/result_fields.h"

namespace uvmsim {

struct Throughput {
  double value = 0;
  std::string unit = {};  // "samples/s"; "iterations/s" where the workload counts no samples
};

// nullopt: no iteration completed, or it took no time.
std::optional<Throughput> throughput_of(const Result& result);

struct Totals {
  double gpu_s = 0;
  GpuCounts counts = {};
  TimeSplit time_split_s = {};
};

// Rates and ratios are absent where there is nothing to divide: no reference, or no iteration completed.
struct Summary {
  double duration_s = 0;
  std::optional<double> cuda_malloc_duration_s = {};
  std::optional<double> slowdown = {};
  std::optional<double> in_core_duration_s = {};
  std::optional<double> in_core_slowdown = {};
  std::optional<Throughput> throughput = {};
  std::optional<Throughput> cuda_malloc_throughput = {};
  std::int64_t peak_live_bytes = 0;
  std::int64_t reserved_bytes = 0;
  std::optional<double> oversubscription = {};
  std::vector<DeviceAllocator> allocators = {};
  std::int64_t host_peak_bytes = 0;
  Totals totals = {};
  std::vector<GpuResult> gpus = {};
};

// A value the result rests on that nobody measured on the modelled machine.
struct Assumption {
  std::string key = {};    // JSON Pointer into the config
  std::string value = {};  // as the config writes it
  std::string status = {};
  std::string source = {};
};

struct InputHash {
  std::string name = {};  // "config": the resolved one; "trace": the lines of the trace file
  std::string fnv1a64 = {};
};

// What a recorded trace knows of the memory that its kernels touch.
struct KnownOperands {
  std::string status = {};  // exact, superset, lower_bound, heuristic or none
  std::int64_t kernels = 0;
  std::int64_t known_kernels = 0;
  double kernel_s = 0;
  double known_s = 0;
  bool enough = true;             // for a verdict; else how slow the workload is, is unknown
  bool faulty_durations = false;  // kernels were timed while their pages faulted: not their time in core
  std::string remedy = {};
  std::string recorded_on = {};  // the GPU whose times kernels have, where the machine has another
};

// What was run, as results say it at their head.
struct Setup {
  std::string machine = {};
  int gpus = 0;
  std::string gpu = {};  // the one with the least usable memory, which the next two are of
  std::int64_t gpu_memory_bytes = 0;
  std::int64_t usable_memory_bytes = 0;
  std::string workload = {};                 // the generator's name, or the trace's path
  std::vector<std::string> parameters = {};  // of the generator, "batch=98"
  std::string allocator = {};
  std::string memory = {};                     // managed, device or system
  std::vector<std::string> overrides = {};     // what the command line changed, "workload.batch=98"
  std::optional<KnownOperands> operands = {};  // of a recorded trace
};

// Everything about a run that differs from machine to machine and from run to run.
struct HostRecord {
  double wall_s = 0;
  double events_per_s = 0;
  std::int64_t peak_rss_bytes = 0;
  std::int64_t in_core_peak_rss_bytes = 0;
};

struct RunRecord {
  std::string simulator = "uvmsim";
  std::string version = {};
  std::string experiment = {};
  std::string description = {};
  std::string workload = {};  // what made the trace
  Setup setup = {};
  std::vector<InputHash> inputs = {};
  int warmup_iterations = 0;
  int measured_iterations = 0;
  int period = 0;
  std::int64_t events = 0;
  std::string history_hash = {};
  std::vector<Assumption> assumptions = {};
  HostRecord host = {};
};

// Work that a run's time depends on: what share of the time, and how far off its price may be.
struct BandPart {
  std::string work = {};
  double share = 0;
  double spread = 0;  // standard deviation of ln(predicted / true) of this work
};

// The plans that the run was made under.
struct PlanReport {
  std::string family = {};
  std::vector<PlanSummary> plans = {};
  std::vector<MemoryPeak> memories = {};
};

// Where the true time is to be expected.
struct Band {
  double level = 0;  // how much of the truth bands are to hold
  double low_s = 0, high_s = 0;
  bool own_costs = false;            // the machine's host has calibration cases of its own
  std::vector<BandPart> parts = {};  // that matter, largest first
};

// How far off a prediction may be, and the measured runs that are most like this one.
struct Trust {
  Band band = {};
  std::string family = {};  // of validation cases
  std::string title = {};
  int values = 0;
  double median_error = 0;  // of |predicted / measured - 1|
  double worst_error = 0;
  double bias = 0;                            // the median of predicted / measured - 1
  std::vector<std::string> differences = {};  // of this run from those
  std::vector<std::string> warnings = {};     // what about this run no measured one was like
};

struct Report {
  Outcome outcome = Outcome::Completed;
  std::string detail = {};
  Summary summary = {};
  std::optional<PlanReport> plan = {};
  std::vector<LinkDirectionResult> links = {};
  std::optional<Trust> trust = {};
  RunRecord run = {};
};

// What is known about a run besides its Result.
struct RunContext {
  std::string version = {};
  std::string experiment = {};
  std::string description = {};
  std::string workload = {};
  Setup setup = {};
  std::vector<InputHash> inputs = {};
  std::vector<Assumption> assumptions = {};
  HostRecord host = {};
};

// What a result is compared with; nullptr: it was not simulated.
struct References {
  const Result* cuda_malloc = nullptr;  // the same program with plain cudaMalloc on GPUs that are large enough
  const Result* in_core = nullptr;      // the same program with unlimited GPU memory
};

Report make_report(const Result& result, const References& references, RunContext context);

}  // namespace uvmsim
