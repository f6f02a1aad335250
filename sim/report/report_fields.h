// What every member of a Report means and how it is called in JSON.
#pragma once

#include "report/report.h"

namespace uvmsim {

template <>
inline constexpr auto kFields<Throughput> =
    std::tuple{Field{"value", &Throughput::value, "", "of all GPUs together"},
               Field{"unit", &Throughput::unit, "", "samples/s, or iterations/s where no samples are counted"}};
UVMSIM_NAMES_EVERY_MEMBER(Throughput);

template <>
inline constexpr auto kFields<Totals> =
    std::tuple{Field{"gpu_s", &Totals::gpu_s, "s", "durations of all GPUs added up"}, Embedded{&Totals::counts},
               Field{"time_split_s", &Totals::time_split_s, "s", "gpu_s by cause"}};
UVMSIM_NAMES_EVERY_MEMBER(Totals);

template <>
inline constexpr auto kFields<Summary> = std::tuple{
    Field{"duration_s", &Summary::duration_s, "s", "one iteration: the slowest GPU, mean over the measured ones"},
    Field{"cuda_malloc_duration_s", &Summary::cuda_malloc_duration_s, "s",
          "the same program with plain cudaMalloc on GPUs that are large enough"},
    Field{"slowdown", &Summary::slowdown, "1", "duration_s / cuda_malloc_duration_s"},
    Field{"in_core_duration_s", &Summary::in_core_duration_s, "s", "the same program with unlimited GPU memory"},
    Field{"in_core_slowdown", &Summary::in_core_slowdown, "1", "duration_s / in_core_duration_s"},
    Field{"throughput", &Summary::throughput, "", "samples of all GPUs per duration_s"},
    Field{"cuda_malloc_throughput", &Summary::cuda_malloc_throughput, "",
          "samples of all GPUs per cuda_malloc_duration_s"},
    Field{"peak_live_bytes", &Summary::peak_live_bytes, "B", "asked for by one process and not freed, at most"},
    Field{"reserved_bytes", &Summary::reserved_bytes, "B", "held by one process's allocator"},
    Field{"oversubscription", &Summary::oversubscription, "1",
          "reserved_bytes over the usable memory of the process's GPUs"},
    Field{"allocators", &Summary::allocators, "", "memory of one process, per device"},
    Field{"host_peak_bytes", &Summary::host_peak_bytes, "B", "managed pages in host memory, at most"},
    Field{"totals", &Summary::totals, "", "all GPUs together"},
    Field{"gpus", &Summary::gpus, "", "per GPU; counts are means per measured iteration"}};
UVMSIM_NAMES_EVERY_MEMBER(Summary);

template <>
inline constexpr auto kFields<Assumption> =
    std::tuple{Field{"key", &Assumption::key, "", "JSON Pointer into the config"},
               Field{"value", &Assumption::value, "", "as the config writes it"},
               Field{"status", &Assumption::status, "", "assumed: a judgement; scaled: computed from another value"},
               Field{"source", &Assumption::source, "", "why this value"}};
UVMSIM_NAMES_EVERY_MEMBER(Assumption);

template <>
inline constexpr auto kFields<InputHash> =
    std::tuple{Field{"name", &InputHash::name, "", "config (resolved) or trace (its lines, uncompressed)"},
               Field{"fnv1a64", &InputHash::fnv1a64, "", "FNV-1a of the bytes, 64 bits"}};
UVMSIM_NAMES_EVERY_MEMBER(InputHash);

template <>
inline constexpr auto kFields<HostRecord> =
    std::tuple{Field{"wall_s", &HostRecord::wall_s, "s", "real time of the simulation"},
               Field{"events_per_s", &HostRecord::events_per_s, "1/s", "run.events / wall_s"},
               Field{"peak_rss_bytes", &HostRecord::peak_rss_bytes, "B", "largest resident size of the simulation"},
               Field{"in_core_peak_rss_bytes", &HostRecord::in_core_peak_rss_bytes, "B",
                     "the same of the in-core reference's process; 0: there was none"}};
UVMSIM_NAMES_EVERY_MEMBER(HostRecord);

template <>
inline constexpr auto kFields<KnownOperands> =
    std::tuple{Field{"status", &KnownOperands::status, "", "exact, superset, lower_bound, heuristic or none"},
               Field{"kernels", &KnownOperands::kernels, "kernels", "kernels of the trace"},
               Field{"known_kernels", &KnownOperands::known_kernels, "kernels", "those with operands"},
               Field{"kernel_s", &KnownOperands::kernel_s, "s", "their time"},
               Field{"known_s", &KnownOperands::known_s, "s", "the time of those with operands"},
               Field{"enough", &KnownOperands::enough, "",
                     "whether at least 90 % of the kernels' time has operands; otherwise no slowdown is given, because "
                     "kernels without operands touch no memory"},
               Field{"faulty_durations", &KnownOperands::faulty_durations, "",
                     "whether kernels were timed while their pages faulted or moved; then no time in core is given"},
               Field{"remedy", &KnownOperands::remedy, "", "how to record more"},
               Field{"recorded_on", &KnownOperands::recorded_on, "",
                     "the GPU whose times the kernels have, where the machine's is another model; else empty"}};
UVMSIM_NAMES_EVERY_MEMBER(KnownOperands);

template <>
inline constexpr auto kFields<Setup> =
    std::tuple{Field{"machine", &Setup::machine, "", "its name"},
               Field{"gpus", &Setup::gpus, "GPUs", "how many it has"},
               Field{"gpu", &Setup::gpu, "", "the GPU's name; of several, the one with the least usable memory"},
               Field{"gpu_memory_bytes", &Setup::gpu_memory_bytes, "B", "memory of that GPU, as sold"},
               Field{"usable_memory_bytes", &Setup::usable_memory_bytes, "B",
                     "usable memory of that GPU: what driver and context leave"},
               Field{"workload", &Setup::workload, "", "the generator's name, or the trace's path"},
               Field{"parameters", &Setup::parameters, "", "the generator's parameters, KEY=VALUE"},
               Field{"allocator", &Setup::allocator, "", "the framework's allocator"},
               Field{"memory", &Setup::memory, "", "what the allocator takes memory from: managed, device or system"},
               Field{"overrides", &Setup::overrides, "", "what the command line changed of the config, KEY=VALUE"},
               Field{"operands", &Setup::operands, "",
                     "for a recorded trace: what is known about the memory that its kernels touch"}};
UVMSIM_NAMES_EVERY_MEMBER(Setup);

template <>
inline constexpr auto kFields<RunRecord> = std::tuple{
    Field{"simulator", &RunRecord::simulator, "", "uvmsim"},
    Field{"version", &RunRecord::version, "", "its version"},
    Field{"experiment", &RunRecord::experiment, "", "the config's name"},
    Field{"description", &RunRecord::description, "", "the config's description"},
    Field{"workload", &RunRecord::workload, "", "what made the trace"},
    Field{"setup", &RunRecord::setup, "", "machine and workload in short"},
    Field{"inputs", &RunRecord::inputs, "", "hashes of what was read"},
    Field{"warmup_iterations", &RunRecord::warmup_iterations, "iterations", "not measured"},
    Field{"measured_iterations", &RunRecord::measured_iterations, "iterations", "measured"},
    Field{"period", &RunRecord::period, "iterations", "length of the cycle that the iterations repeat; 0: none found"},
    Field{"events", &RunRecord::events, "events", "driver steps, copies and stream operations"},
    Field{"history_hash", &RunRecord::history_hash, "", "hash of the order of those"},
    Field{"assumptions", &RunRecord::assumptions, "",
          "values on which the result rests and that nobody measured on this machine"},
    Field{"host", &RunRecord::host, "", "what varies from run to run; nothing else in this object does"}};
UVMSIM_NAMES_EVERY_MEMBER(RunRecord);

template <>
inline constexpr auto kFields<BandPart> = std::tuple{
    Field{"work", &BandPart::work, "", "a kind of work"}, Field{"share", &BandPart::share, "1", "share of the time"},
    Field{"spread", &BandPart::spread, "1", "standard deviation of ln(predicted / true) of this work"}};
UVMSIM_NAMES_EVERY_MEMBER(BandPart);

template <>
inline constexpr auto kFields<Band> = std::tuple{
    Field{"level", &Band::level, "1",
          "share of true durations that such bands should hold; validation/RESULTS.md says how many they do"},
    Field{"low_s", &Band::low_s, "s", "lower end of the band"},
    Field{"high_s", &Band::high_s, "s", "upper end of the band"},
    Field{"own_costs", &Band::own_costs, "",
          "whether the costs of the driver were fitted to cases of this machine's host"},
    Field{"parts", &Band::parts, "", "what the duration depends on, largest share first"}};
UVMSIM_NAMES_EVERY_MEMBER(Band);

template <>
inline constexpr auto kFields<Trust> = std::tuple{
    Field{"band", &Trust::band, "", "where to expect the true duration"},
    Field{"family", &Trust::family, "", "the family of validation cases (validation/RESULTS.md) most like this run"},
    Field{"title", &Trust::title, "", "what was measured there"},
    Field{"values", &Trust::values, "", "values compared in that family"},
    Field{"median_error", &Trust::median_error, "1", "median of |predicted / measured - 1| over those values"},
    Field{"worst_error", &Trust::worst_error, "1", "the largest of those"},
    Field{"bias", &Trust::bias, "1", "median of predicted / measured - 1"},
    Field{"differences", &Trust::differences, "", "how this run differs from that family"},
    Field{"warnings", &Trust::warnings, "", "features of this run that no validated run had"}};
UVMSIM_NAMES_EVERY_MEMBER(Trust);

template <>
inline constexpr auto kFields<PlanReport> =
    std::tuple{Field{"family", &PlanReport::family, "", "swap, recompute, compress or hybrid"},
               Field{"plans", &PlanReport::plans, "", "per GPU"},
               Field{"memories", &PlanReport::memories, "", "per memory; of managed memory none"}};
UVMSIM_NAMES_EVERY_MEMBER(PlanReport);

template <>
inline constexpr auto kFields<Report> = std::tuple{
    Field{"outcome", &Report::outcome, "",
          "completed, out_of_memory, host_out_of_memory, deadlock, contents_lost, ipc_refused or not_managed"},
    Field{"detail", &Report::detail, "", "why it did not complete: who waits for what"},
    Field{"summary", &Report::summary, "", "the numbers"},
    Field{"plan", &Report::plan, "", "the plans of tensors that it was run under"},
    Field{"links", &Report::links, "", "per direction of each link"},
    Field{"trust", &Report::trust, "", "how far off predictions of runs like this one were"},
    Field{"run", &Report::run, "", "what was run, with what"}};
UVMSIM_NAMES_EVERY_MEMBER(Report);

}  // namespace uvmsim
