#include "study/workload_section.h"

#include <algorithm>

#include "base/quantity.h"
#include "study/call_section.h"
#include "study/plug_in_section.h"
#include "study/transform_section.h"

namespace uvmsim {
namespace {

// A trace named in a file is relative to that file; after --set, to the current folder.
std::string trace_path(const std::string& trace, const ResolvedConfig& resolved, const std::string& pointer) {
  const auto leaf = std::ranges::find(resolved, pointer_to(pointer, "trace"), &ResolvedValue::pointer);
  if (trace.empty() || leaf == resolved.end()) return trace;
  const std::size_t colon = leaf->origin.rfind(':');
  return colon == std::string::npos ? trace : path_beside(leaf->origin.substr(0, colon), trace);
}

}  // namespace

const Description& describe_calibrate() {
  static const Description d =
      Describe<CalibrateSection>("what kernel durations are scaled to")
          .text("in_core", &CalibrateSection::in_core,
                "what the workload reaches on one GPU when everything fits, \"44.3 samples/s\", or what one iteration "
                "takes, \"2.21 s\": kernel durations are scaled to it; not given: they stay as they are")
          .build();
  return d;
}

const Description& describe_workload() {
  using W = WorkloadSection;
  static const Description d =
      Describe<W>("what runs")
          .plug_in("generator", &W::generator, "generator",
                   "a name from `uvmsim list generator`; its parameters are keys next to it")
          .text("trace", &W::trace, "path of a uvmtrace, instead of a generator; relative to the file that names it")
          .text("calls", &W::calls,
                "what the program does about its memory besides what the trace says: names from `uvmsim list calls`, "
                "separated by commas; their parameters are in call_options")
          .flag("data_parallel", &W::data_parallel, "one process per GPU, each running the whole workload")
          .flag("enable_peers", &W::enable_peers,
                "the processes enable peer access to every GPU that machine.peer_access lets theirs reach, even to "
                "those of other processes, so that cudaMalloc maps its memory on each; false: only between a process's "
                "own GPUs")
          .flag("sync_gradients", &W::sync_gradients,
                "the processes sum their weight gradients, by default in one all-reduce at the end of each iteration")
          .bytes("sync_bucket", &W::sync_bucket,
                 "sum them in buckets of about this size while backward runs, as PyTorch's DistributedDataParallel "
                 "(25 MiB there); 0: all at the end")
          .integer("sync_every", &W::sync_every,
                   "accumulate gradients over this many iterations: only the last of them sums and takes a step",
                   {1, 1'000'000}, "iterations")
          .section("calibrate", &W::calibrate, describe_calibrate(), "what kernel durations are scaled to")
          .build();
  return d;
}

const Description& describe_stage() {
  using S = AllocatorStage;
  static const Description d =
      Describe<S>("a stage of the program, with an allocator of its own")
          .text("phase", &S::phase,
                "the phase of the trace with which the stage begins (`uvmsim trace info` lists phases)")
          .plug_in("allocator", &S::allocator, "allocator", "as workload.allocator, with its default parameters")
          .text("memory", &S::memory, "as workload.memory", {"managed", "device", "system"})
          .build();
  return d;
}

const Description& describe_placement() {
  using P = PlacementOptions;
  static const Description d =
      Describe<P>("where allocations live")
          .plug_in("allocator", &P::allocator, "allocator",
                   "the framework's allocator; none: it calls the driver directly")
          .text("memory", &P::memory,
                "what the allocator takes memory from: cudaMallocManaged, cudaMalloc, or "
                "malloc, which GPUs reach on machines "
                "with ATS (NVLink or C2C to the host, Volta and later)",
                {"managed", "device", "system"})
          .flag("prefetch_on_alloc", &P::prefetch_on_alloc,
                "cudaMemPrefetchAsync of each new managed segment to its GPU")
          .text("ipc_kinds", &P::ipc_kinds,
                "kinds of tensors that other processes map by CUDA IPC, separated by commas "
                "(`uvmsim trace info` lists kinds); managed memory cannot be shared")
          .plug_in("ipc_allocator", &P::ipc_allocator, "allocator",
                   "the allocator of those tensors, over cudaMalloc memory of its own; not "
                   "given: they come from the same allocator as all others",
                   {""})
          .sections("stages", &P::stages, describe_stage(),
                    "from a phase on, tensors come from another allocator; memory of the one "
                    "before goes back once nothing of it is in use (RMM's finalize)")
          .flag("cudnn_benchmark", &P::cudnn_benchmark,
                "torch.backends.cudnn.benchmark: at first use, a kernel's launch variants are timed whose workspace "
                "fits into what cudaMemGetInfo calls free, and the fastest is used; where the workload has none, 3x3 "
                "convolutions have Winograd's (sim/workload/winograd.h)")
          .build();
  return d;
}

std::optional<InCore> parse_in_core(std::string_view text) {
  InCore in_core;
  if (const std::optional<Duration> iteration = parse_duration(text)) {
    in_core.iteration = *iteration;
  } else {
    const std::size_t number_end = std::min(text.find_first_not_of("0123456789.+-eE"), text.size());
    std::string_view unit = text.substr(number_end);
    while (unit.starts_with(' ')) unit.remove_prefix(1);
    if (unit.size() < 3 || !unit.ends_with("/s") || unit.find_first_of("0123456789 ") != std::string_view::npos)
      return std::nullopt;
    in_core.samples_per_second = parse_number(text.substr(0, number_end)).value_or(0);
  }
  return in_core.given() ? std::optional(in_core) : std::nullopt;
}

Duration iteration_of(const InCore& in_core, const trace::Header& header, const std::string& place) {
  if (in_core.samples_per_second <= 0) return in_core.iteration;
  if (header.samples <= 0)
    throw UserError(header.name, {{place,
                                   "a rate needs samples, and the workload counts none; give the time of one "
                                   "iteration, such as \"2.21 s\""}});
  return from_seconds(header.samples / in_core.samples_per_second);
}

InCore read_in_core(const CalibrateSection& calibrate, const std::string& place, std::vector<InputError>& errors) {
  if (calibrate.in_core.empty()) return {};
  const std::optional<InCore> in_core = parse_in_core(calibrate.in_core);
  if (!in_core)
    errors.push_back({place, "expected a rate such as \"44.3 samples/s\" or a time such as \"2.21 s\", got \"" +
                                 calibrate.in_core + "\""});
  return in_core.value_or(InCore{});
}

WorkloadConfig read_workload(const JsonValue* value, const std::string& pointer, std::vector<InputError>& errors,
                             ResolvedConfig& resolved) {
  WorkloadConfig config;
  config.generator = text_at(value, "generator");
  if (const auto* entry = generators().find(config.generator)) {
    config.parameters = entry->make();
  } else if (!config.generator.empty()) {  // which keys are its parameters is not known
    errors.push_back(generators().unknown(place_of_key(value, pointer, "generator"), config.generator));
    return config;
  }
  const auto allocator = named_plug_in<Allocator>(value, "allocator", config.placement.allocator);
  config.placement.kind = allocator;
  config.calls = read_call_policies(text_at(value, "calls"), place_of_key(value, pointer, "calls"), errors);
  OptionsSections sections, call_options;
  sections.add("allocator_options", allocator.get());
  const auto ipc_allocator = named_plug_in<Allocator>(value, "ipc_allocator");
  config.placement.ipc_kind = ipc_allocator;
  if (ipc_allocator) sections.add("ipc_allocator_options", ipc_allocator.get());
  for (const NamedCallPolicy& named : config.calls) call_options.add(named.name, named.policy.get());
  if (!call_options.empty()) sections.add("call_options", call_options);

  WorkloadSection section;
  std::vector<DescribedObject> parts = {{&describe_workload(), &section}, {&describe_placement(), &config.placement}};
  if (config.parameters) parts.push_back(config.parameters->parameters());
  parts.push_back(sections.described());
  sections.add("transforms", nullptr);  // read below
  const JsonValue* whole = value;
  value = sections.known(value);
  const std::size_t before = errors.size();
  read_described(value, pointer, parts, errors, resolved);
  config.transforms = read_transforms(whole, pointer, errors, resolved);
  config.trace = trace_path(section.trace, resolved, pointer);
  config.data_parallel = section.data_parallel;
  config.enable_peers = section.enable_peers;
  config.sync_gradients = section.sync_gradients;
  config.sync = {.bucket = section.sync_bucket, .every = section.sync_every};
  if (!section.sync_gradients)
    for (const auto& [key, set] :
         {std::pair("sync_bucket", section.sync_bucket.value > 0), std::pair("sync_every", section.sync_every > 1)})
      if (set) errors.push_back({place_of_key(value, pointer, key), "means nothing without sync_gradients"});

  if (section.generator.empty() == section.trace.empty())
    errors.push_back({place_of_key(value, pointer, "generator"), section.trace.empty()
                                                                     ? "expected a generator or a trace"
                                                                     : "expected a generator or a trace, not both"});
  const JsonValue* calibrate = value == nullptr ? nullptr : value->find("calibrate");
  config.in_core =
      read_in_core(section.calibrate, place_of_key(calibrate, pointer_to(pointer, "calibrate"), "in_core"), errors);
  if (allocator)
    for (const std::string& contradiction : allocator->contradictions(config.placement.memory))
      errors.push_back({place_of_key(value, pointer, "allocator_options"), contradiction});
  if (ipc_allocator) {
    for (const std::string& contradiction : ipc_allocator->contradictions("device"))
      errors.push_back({place_of_key(value, pointer, "ipc_allocator_options"), contradiction});
    if (config.placement.ipc_kinds.empty())
      errors.push_back({place_of_key(value, pointer, "ipc_allocator"), "means nothing without ipc_kinds"});
  }
  for (const NamedCallPolicy& calls : config.calls)
    for (const std::string& contradiction : calls.policy->contradictions())
      errors.push_back({place_of_key(value, pointer, "call_options"), contradiction});
  if (config.parameters && errors.size() == before)
    for (const std::string& contradiction : config.parameters->contradictions())
      errors.push_back({place_of(pointer, value == nullptr ? "" : value->origin), contradiction});
  return config;
}

}  // namespace uvmsim
