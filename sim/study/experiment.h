// One experiment: a machine, a workload, a driver, and how long to run. Read from configs/*.json.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_reader.h"
#include "loading/data_config.h"
#include "machine/machine.h"
#include "memory/allocator.h"
#include "plan/call_policy.h"
#include "study/plan_section.h"
#include "workload/generator.h"
#include "workload/sync_gradients.h"
#include "workload/transform.h"

namespace uvmsim {

// What an iteration takes when everything fits, on one GPU: kernel durations are scaled to it.
// At most one of the two is set; neither: durations stay the trace's own.
struct InCore {
  Duration iteration{};
  double samples_per_second = 0;  // the iteration is the trace's samples per iteration and device over this

  bool given() const { return iteration > Duration{0} || samples_per_second > 0; }
};

// The time of an iteration by `in_core`, which is given. UserError that names `place` when it is a rate and the trace
// counts no samples.
Duration iteration_of(const InCore& in_core, const trace::Header& header, const std::string& place);

// What runs. Exactly one of `generator` and `trace` is set.
struct WorkloadConfig {
  std::string generator;                  // a name from `uvmsim list generator`
  std::unique_ptr<Generator> parameters;  // of `generator`, with its parameters filled in
  std::string trace;                      // path of a uvmtrace, as it can be opened
  PlacementOptions placement;             // device_capacity is left to whoever runs
  std::vector<NamedCallPolicy> calls;     // what the program does about its memory, besides what the trace says
  bool data_parallel = false;             // one process per GPU, each with the whole workload
  bool enable_peers = false;              // cudaMalloc maps memory on all GPUs within reach, not on the process' own
  bool sync_gradients = false;            // the processes sum their gradients,
  GradientSync sync;                      // like this
  InCore in_core;
  std::optional<GpuSpec> measured_on;  // the GPU of the durations of `in_core` or `trace`, where it is another
  std::vector<std::shared_ptr<Transform>> transforms;  // of the trace, in order, after all of the above
};

struct RunConfig {
  int warmup = 2;      // iterations before the measured ones
  int iterations = 2;  // measured iterations; an even number, because addresses may alternate
  // Process n of a data-parallel job runs n times this behind process 0. Assumed; sensitivity in DEVIATIONS.md.
  Duration process_stagger = microseconds(1000);
  bool from_host = false;  // all managed memory is on the host when the measured iteration begins
  bool audit = false;      // check the driver's invariants as the run goes
};

struct Experiment {
  std::string name;  // the file's name without ".json" when the config has none
  std::string description;
  std::string file;                    // that it was read from; "": of no file
  std::vector<std::string> overrides;  // what the command line changed of it, KEY=VALUE
  Machine machine;                     // with the config's "driver" section
  WorkloadConfig workload;
  RunConfig run;
  PlanConfig plan;
  DataConfig data;
  ResolvedConfig resolved;  // every value with its origin, status and source
};

// Reads the experiment at `path`  and applies `settings` ("a.b=value") in order.
// Throws UserError with every error found.
Experiment read_experiment(const std::string& path, const std::vector<std::string>& settings = {});

// The text of a file of this machine, or nullopt: the FileLoader of the function above.
std::optional<std::string> read_text_file(const std::string& path);

// Files as the configuration `file` names them: next to what names them, else the bundled one of that name in
// `configs_folder` or its machines, whatever folder `file` is in.
FileLoader beside_or_bundled(std::string file, std::string configs_folder);

// The same from any store of files.
Experiment read_experiment(const std::string& path, const std::vector<std::string>& settings, const FileLoader& load);

// The experiment in `document`, which stands in `path` and has been merged. Appends errors; what is returned is
// meaningless then.
Experiment read_experiment(const JsonValue& document, const std::string& path, std::vector<InputError>& errors);

// Reads `text` as an experiment that can extend no file, for fuzzing: any bytes may be given.
void parse_config_bytes(std::string_view text);

const Description& describe_run();

// "44.3 samples/s" or "2.21 s"; nullopt for anything else, zero and negative values included.
std::optional<InCore> parse_in_core(std::string_view text);

}  // namespace uvmsim
