#include "cli/trace_command.h"

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/json_reader.h"
#include "base/printable.h"
#include "cli/output_file.h"
#include "cli/trace_import.h"
#include "cli/trace_pool.h"
#include "cli/trace_replay.h"
#include "cli/trace_torch.h"
#include "study/workload_section.h"
#include "trace/checker.h"
#include "trace/info.h"
#include "trace/reader.h"
#include "trace/writer.h"
#include "workload/calibrate.h"
#include "workload/generator.h"

namespace uvmsim {
namespace {

struct InfoOptions {
  std::string file;
  bool json = false;
};

struct ConvertOptions {
  std::string in, out;
  int level = 3;
};

struct GenerateOptions {
  std::string generator, out;
  std::vector<std::string> settings;
  int iterations = 3;
  int level = 3;
};

std::int64_t total(const std::map<std::string, std::int64_t>& counts) {
  std::int64_t sum = 0;
  for (const auto& [name, count] : counts) sum += count;
  return sum;
}

// Compressed or plain, as the name of the file says.
trace::WriteOptions write_options(const std::string& path, int level) {
  return {.zstd_level = path.ends_with(".zst") ? level : 0};
}

void show_info(const InfoOptions& options, Console& console) {
  trace::TraceSurvey survey;
  trace::ReadSummary summary = trace::read_records(options.file, survey);
  trace::TraceInfo info = survey.take();
  info.ignored_tags = std::move(summary.ignored_tags);
  info.ignored_keys = std::move(summary.ignored_keys);
  console.out << (options.json ? to_json(info) : printable_lines(to_text(info)));
}

// A line for each file, or one object with `json`.
void check_files(const std::vector<std::string>& files, bool as_json, Console& console) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const std::string& file : files) {
    try {
      trace::TraceSurvey survey;
      const trace::ReadSummary summary = trace::read_records(file, survey);
      const std::int64_t ignored = total(summary.ignored_tags);
      const std::map<std::string, std::int64_t> unused = survey.take().unused_options;
      json.push_back({{"file", file},
                      {"valid", true},
                      {"records", summary.records},
                      {"ignored", ignored},
                      {"unused_options", unused}});
      if (as_json) continue;
      console.out << printable(file) << ": ok, " << summary.records << " records";
      if (ignored > 0) console.out << ", " << ignored << " of unknown kind ignored";
      if (!unused.empty()) console.out << ", options that their pattern does not take: " << trace::with_counts(unused);
      console.out << "\n";
    } catch (const UserError& error) {
      json.push_back({{"file", file}, {"valid", false}, {"fault", error.what()}});
      console.err << error.what() << "\n";
      console.exit = ExitCode::InputError;
    }
  }
  if (as_json) console.out << nlohmann::ordered_json{{"files", std::move(json)}}.dump(2) << "\n";
}

void convert(const ConvertOptions& options, Console& console) {
  OutputFile file(options.out, {options.in});
  const int level = write_options(options.out, options.level).zstd_level;
  const auto sink = level > 0 ? trace::zstd_sink(file.stream(), level) : trace::plain_sink(file.stream());
  trace::RecordWriter writer(*sink);
  const trace::ReadSummary summary = trace::read_records(options.in, writer);
  writer.finish();
  file.keep();
  const std::int64_t records = total(summary.ignored_tags), keys = total(summary.ignored_keys);
  if (records + keys > 0)
    console.err << printable(options.out) << ": left out " << records << " records and " << keys
                << " keys of unknown kind\n";
}

std::unique_ptr<Generator> make_generator(const std::string& name) {
  if (const auto* entry = generators().find(name)) return entry->make();
  throw UserError("trace gen", {generators().unknown("", name)});
}

// Keys of --set besides the generator's own, as in a config's "workload" section.
struct CommonSettings {
  CalibrateSection calibrate;
};

const Description& describe_common_settings() {
  static const Description d =
      Describe<CommonSettings>("what all generators share")
          .section("calibrate", &CommonSettings::calibrate, describe_calibrate(), "what kernel durations are scaled to")
          .build();
  return d;
}

// Fills in the generator's parameters; returns what kernel durations are scaled to.
InCore apply_settings(Generator& generator, const GenerateOptions& options) {
  JsonValue parameters;
  parameters.type = JsonValue::Type::Object;
  std::vector<InputError> errors;
  for (const std::string& setting : options.settings) apply_setting(parameters, setting, errors);
  CommonSettings common;
  const std::array described = {generator.parameters(), DescribedObject{&describe_common_settings(), &common}};
  ResolvedConfig resolved;
  if (errors.empty()) read_described(&parameters, "", described, errors, resolved);
  const InCore in_core = read_in_core(common.calibrate, "--set calibrate.in_core", errors);
  if (errors.empty())
    for (const std::string& contradiction : generator.contradictions()) errors.push_back({"--set", contradiction});
  if (!errors.empty()) throw UserError(options.generator, std::move(errors));
  return in_core;
}

void generate(const GenerateOptions& options) {
  const std::unique_ptr<Generator> generator = make_generator(options.generator);
  const InCore in_core = apply_settings(*generator, options);
  trace::Trace made = generator->generate(options.iterations);
  if (in_core.given()) scale_durations(made, iteration_of(in_core, made.header, "--set calibrate.in_core"));
  if (std::vector<InputError> errors = trace::check_trace(made); !errors.empty())
    throw UserError(options.generator + " as a trace", std::move(errors));
  OutputFile file(options.out);
  write_trace(made, file.stream(), write_options(options.out, options.level));
  file.keep();
}

void add_level(Verb verb, int& level) {
  verb.option("--level", level, "how hard to compress a .zst: 1 (fast) .. 19 (small)").in_range(1, 19).show_default();
}

}  // namespace

void add_trace_command(Verb app, Console& console) {
  Verb trace = app.verb("trace", "inspect, check, convert, generate and import traces of workloads");
  trace.require_verb();

  auto info = std::make_shared<InfoOptions>();
  Verb show = trace.verb("info", "describe a trace: records, memory, kernels, where it comes from");
  show.option("file", info->file, "a trace, plain or .zst").required();
  show.flag("--json", info->json, "print JSON, with every number exact");
  show.run([info, &console] { show_info(*info, console); });

  auto files = std::make_shared<std::vector<std::string>>();
  Verb check = trace.verb("check", "check whether traces are valid; lists every error with its line");
  check.option("file", *files, "traces, plain or .zst").required();
  auto check_json = std::make_shared<bool>(false);
  check.flag("--json", *check_json, "print one JSON object");
  check.run([files, check_json, &console] { check_files(*files, *check_json, console); });

  auto conversion = std::make_shared<ConvertOptions>();
  Verb convert_verb = trace.verb("convert", "rewrite a trace in canonical form, plain or compressed");
  convert_verb.option("in", conversion->in, "a trace, plain or .zst").required();
  convert_verb.option("out", conversion->out, "the file to write; compressed when its name ends in .zst").required();
  add_level(convert_verb, conversion->level);
  convert_verb.run([conversion, &console] { convert(*conversion, console); });

  auto generation = std::make_shared<GenerateOptions>();
  Verb gen = trace.verb("gen", "generate a trace of a workload");
  gen.option("generator", generation->generator, "a name from `uvmsim list generator`").required();
  gen.option("--set", generation->settings,
             "KEY=VALUE of a parameter, or calibrate.in_core=VALUE, to which kernel durations are scaled; may be "
             "repeated, later ones win")
      .repeatable();
  gen.option("--iterations", generation->iterations, "how many iterations").in_range(1, 1'000'000).show_default();
  gen.option("-o,--output", generation->out, "the file to write; compressed when its name ends in .zst").required();
  add_level(gen, generation->level);
  gen.run([generation] { generate(*generation); });

  add_trace_import(trace, console);
  add_trace_torch(trace, console);
  add_trace_pool(trace, console);
  add_trace_replay(trace, console);
  add_trace_hooks(trace, console);
}

}  // namespace uvmsim
