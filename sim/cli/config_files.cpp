#include "cli/config_files.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "base/json_document.h"
#include "base/user_error.h"
#include "importers/importer.h"
#include "machine/description.h"
#include "study/named_section.h"
#include "workload/generator.h"

namespace uvmsim {

namespace fs = std::filesystem;

namespace {

// What the argument of a command names.
struct Named {
  enum class Kind { Config, Trace, Generator };
  Kind kind = Kind::Config;
  std::string name;  // the file's path; the generator's name
};

constexpr std::string_view kGeneratorPrefix = "generator.";

// The configuration that `path` means: the file itself; else, bundled under that name. nullopt: there is none.
std::optional<std::string> config_file(const std::string& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return path;
  if (fs::path(path).is_absolute()) return std::nullopt;
  const fs::path bundled = configs_folder();
  const std::string inner = path.starts_with("configs/") ? path.substr(8) : path;
  for (const fs::path& candidate : {bundled / inner, bundled / (inner + ".json")})
    if (fs::is_regular_file(candidate, error)) return candidate.string();
  return std::nullopt;
}

// A uvmtrace begins with a list, a configuration with an object or a comment; what an importer knows is neither.
Named::Kind kind_of_file(const std::string& path) {
  const std::string head = ImportFile::at(path).head();
  if (head.starts_with('[')) return Named::Kind::Trace;
  for (const auto& [name, importer] : importers().entries())
    if (!importer.make()->role(head).empty())
      throw UserError(path, "is a recording of another program (" + name +
                                "); make a trace of it first: uvmsim trace "
                                "import " +
                                path + " -o " + fs::path(path).stem().string() + ".uvmtrace.zst");
  return Named::Kind::Config;
}

Named find_named(const std::string& name) {
  const bool prefixed = name.starts_with(kGeneratorPrefix);
  const std::string generator = prefixed ? name.substr(kGeneratorPrefix.size()) : name;
  const bool generates = generators().find(generator) != nullptr;
  const std::optional<std::string> file = prefixed ? std::nullopt : config_file(name);
  if (file && generates) throw UserError(name, "is a generator and a file; write generator." + name + " or ./" + name);
  if (generates) return {Named::Kind::Generator, generator};
  if (file) return {kind_of_file(*file), *file};
  std::error_code error;
  if (fs::is_directory(name, error)) throw UserError(name, "is a folder; expected a file in it");
  std::vector<std::string> known = generators().names();
  if (!prefixed) std::ranges::move(config_names(configs_folder()), std::back_inserter(known));
  throw UserError(name,
                  std::string(prefixed ? "no generator of that name" : "no such file, configuration or generator") +
                      did_you_mean(prefixed ? generator : fs::path(name).stem().string(), known));
}

JsonValue text_value(const std::string& text) {
  JsonValue value;
  value.type = JsonValue::Type::String;
  value.text = text;
  value.origin = "by name";
  return value;
}

// What frameworks of the generator's time allocate with; micro-benchmarks call the driver.
std::string allocator_of(Generator& generator) {
  if (generator.sort() == "kernels") return "none";
  const auto [description, parameters] = generator.parameters();
  const FieldInfo* torch = description->find("torch");
  return torch != nullptr && *static_cast<const std::string*>(torch->locate(parameters)) != "1.0" ? "torch_2"
                                                                                                  : "torch_1_0";
}

JsonValue document_of(const Named& named, const std::string& folder, std::vector<InputError>& errors) {
  if (named.kind == Named::Kind::Config) return load_json(named.name, beside_or_bundled(named.name, folder), errors);
  const bool is_trace = named.kind == Named::Kind::Trace;
  JsonValue document;
  document.type = JsonValue::Type::Object;
  const auto add = [&](std::string_view key, const std::string& text) {
    apply_setting(document, key, text_value(text), "by name", errors);
  };
  add("workload.allocator", is_trace ? "torch_2" : allocator_of(*generators().find(named.name)->make()));
  add(is_trace ? "workload.trace" : "workload.generator", named.name);
  return document;
}

// Puts the machine of --machine, or the one that traces and generators have without it, into `document`.
void put_machine(JsonValue& document, const Named& named, const ConfigArguments& arguments, const std::string& folder,
                 std::vector<InputError>& errors) {
  if (named.kind == Named::Kind::Config && arguments.machine.empty()) return;
  const std::string machine = arguments.machine.empty() ? kDefaultMachine : arguments.machine;
  const JsonValue section = named_section("machine", machine, folder, "--machine", errors);
  if (errors.empty()) put_section(document, "machine", section, "--machine", errors);
}

// The first GPU of the machine in `document`; nullopt: it has none that can be read, which the reader will say.
std::optional<GpuSpec> gpu_in(const JsonValue& document) {
  const JsonValue* machine = document.find("machine");
  std::vector<InputError> errors;
  ResolvedConfig resolved;
  if (machine == nullptr) return std::nullopt;
  Machine read = read_machine(machine, "/machine", errors, resolved);
  if (!errors.empty() || read.gpus.empty()) return std::nullopt;
  return std::move(read.gpus.front());
}

// Durations that were measured stay those of `gpu` when another takes its place.
void note_measured(Experiment& experiment, const std::optional<GpuSpec>& gpu) {
  const std::string& now = experiment.machine.gpus.front().name;
  const bool measured = experiment.workload.in_core.given() || !experiment.workload.trace.empty();
  if (!gpu || !measured || gpu->name == now) return;
  experiment.workload.measured_on = gpu;
  experiment.description =
      "kernel durations: those of " + gpu->name + ", scaled to " + now + " by the rooflines of both";
}

// Keeps what the command line changed. A description that a file has of itself is not one of what was changed.
void note_origin(Experiment& experiment, const Named& named, const ConfigArguments& arguments) {
  if (named.kind != Named::Kind::Generator) experiment.file = named.name;
  if (!arguments.machine.empty()) experiment.overrides.push_back("machine=" + arguments.machine);
  std::ranges::copy(arguments.settings, std::back_inserter(experiment.overrides));
  const auto set = std::ranges::find(experiment.resolved, "/description", &ResolvedValue::pointer);
  if (!experiment.overrides.empty() && set != experiment.resolved.end() && set->origin != "--set")
    experiment.description.clear();
}

std::string machines_folder() { return configs_folder() + "/machines"; }

Machine read_bundled(const std::string& machine) {
  std::vector<InputError> errors;
  ResolvedConfig resolved;
  const JsonValue document = load_json(machines_folder() + "/" + machine + ".json", read_text_file, errors);
  Machine read = read_machine(&document, "/machine", errors, resolved);
  if (!errors.empty()) throw UserError(machine, std::move(errors));
  return read;
}

}  // namespace

std::string configs_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) throw UserError("bundled configurations", "not found: /proc/self/exe: " + error.message());
  const fs::path installed = program.parent_path().parent_path() / "share/uvmsim/configs";
  if (fs::is_directory(installed / "machines", error)) return installed.string();
  for (fs::path folder = program.parent_path(); folder.has_relative_path(); folder = folder.parent_path())
    if (fs::is_directory(folder / "configs/machines", error)) return (folder / "configs").string();
  throw UserError("bundled configurations",
                  "not found: neither " + installed.string() + " nor a folder configs above " + program.string());
}

std::string data_folder() { return fs::path(configs_folder()).parent_path().string(); }

std::string validation_folder() { return (fs::path(configs_folder()).parent_path() / "validation").string(); }

std::optional<PublishedErrors> published_errors() {
  const std::string path = validation_folder() + "/results.json";
  const std::optional<std::string> text = read_text_file(path);
  if (!text) return std::nullopt;
  PublishedErrors errors = read_errors(*text, path);
  if (errors.families.empty()) return std::nullopt;
  return errors;
}

void add_config_options(Verb command, ConfigArguments& arguments, bool required) {
  command
      .option("config", arguments.config,
              "a configuration file or the name of a bundled one, a trace file, or the name of a generator")
      .required(required);
  command.option("--machine", arguments.machine,
                 "a machine file, or a name from `uvmsim list machines`; default: the configuration's, and " +
                     std::string(kDefaultMachine) + " for traces and generators");
  command
      .option("--set", arguments.settings, "KEY=VALUE; may be repeated, later ones win; machine and policy take names")
      .repeatable();
}

NamedDocument read_document(const ConfigArguments& arguments) {
  const std::string folder = configs_folder();
  std::vector<InputError> errors;
  const Named named = find_named(arguments.config);
  JsonValue document = document_of(named, folder, errors);
  put_machine(document, named, arguments, folder, errors);
  if (!errors.empty()) throw UserError(arguments.config, std::move(errors));
  return {named.name, std::move(document), named.kind == Named::Kind::Trace};
}

Experiment read_config(const ConfigArguments& arguments) {
  const std::string folder = configs_folder();
  std::vector<InputError> errors;
  const Named named = find_named(arguments.config);
  JsonValue document = document_of(named, folder, errors);
  std::optional<GpuSpec> measured = gpu_in(document);
  put_machine(document, named, arguments, folder, errors);
  if (named.kind == Named::Kind::Trace && errors.empty()) measured = gpu_in(document);
  // What stands in a document that could not be read whole is not worth judging.
  if (!errors.empty()) throw UserError(arguments.config, std::move(errors));
  for (const std::string& setting : arguments.settings) apply_setting(document, setting, folder, errors);

  Experiment experiment = read_experiment(document, named.name, errors);
  if (!errors.empty()) throw UserError(arguments.config, std::move(errors));
  note_origin(experiment, named, arguments);
  note_measured(experiment, measured);
  return experiment;
}

std::vector<std::string> config_names(const std::string& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".json" && entry.path().stem() != "schema")
      names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

GpuSpec bundled_gpu(const std::string& option, const std::string& machine) {
  const std::vector<std::string> names = config_names(machines_folder());
  if (std::ranges::find(names, machine) == names.end()) {
    throw UserError(option, "no bundled machine is named \"" + machine + "\"" +
                                did_you_mean(machine, names, "; see `uvmsim list machines`"));
  }
  return std::move(read_bundled(machine).gpus.front());
}

std::vector<Machine> bundled_machines() {
  std::vector<Machine> machines;
  for (const std::string& name : config_names(machines_folder())) machines.push_back(read_bundled(name));
  return machines;
}

}  // namespace uvmsim
