#include "study/experiment.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "machine/description.h"
#include "study/config_keys.h"
#include "study/data_section.h"
#include "study/plug_in_section.h"
#include "study/sweep/axis.h"
#include "study/workload_section.h"
#include "uvm/eviction/eviction_policy.h"
#include "uvm/prefetch/prefetch_policy.h"

namespace uvmsim {
namespace {

struct ExperimentHeader {
  std::string schema;
  std::string name;
  std::string description;
};

const Description& describe_header() {
  static const Description d =
      Describe<ExperimentHeader>("an experiment")
          .text("$schema", &ExperimentHeader::schema, "for editors: schema.json; not read")
          .text("name", &ExperimentHeader::name, "the experiment's name; default: the file's")
          .text("description", &ExperimentHeader::description, "one sentence, shown with the results")
          .build();
  return d;
}

const std::vector<std::string> kSections = {"machine", "driver", "workload", "run", "plan", "data", "sweep"};

// What a key that is no section may have meant: a section, or a key in one.
std::string meant_by(const std::string& key) {
  const std::string section = nearest(key, kSections);
  return section.empty() ? key_named_like(key) : section;
}

// Reads the keys besides the sections; sections under another name are unknown keys.
ExperimentHeader read_header(const JsonValue& document, std::vector<InputError>& errors, ResolvedConfig& resolved) {
  ExperimentHeader header;
  JsonValue rest = document;
  std::erase_if(rest.members, [&](const JsonMember& member) {
    if (std::ranges::find(kSections, member.key) != kSections.end()) return true;
    if (describe_header().find(member.key) != nullptr) return false;
    const std::string near = meant_by(member.key);
    if (!near.empty())
      errors.push_back(
          {place_of(pointer_to("", member.key), member.value.origin), "unknown key; did you mean \"" + near + "\"?"});
    return !near.empty();
  });
  const DescribedObject part{&describe_header(), &header};
  read_described(&rest, "", {&part, 1}, errors, resolved);
  std::erase_if(resolved, [](const ResolvedValue& value) { return value.pointer == "/$schema"; });
  return header;
}

DriverConfig read_driver(const JsonValue* value, std::vector<InputError>& errors, ResolvedConfig& resolved) {
  DriverConfig driver;
  const auto prefetch = named_plug_in<PrefetchPolicy>(value, "prefetch_policy", driver.prefetch_policy);
  const auto eviction = named_plug_in<EvictionPolicy>(value, "eviction_policy", driver.eviction_policy);
  OptionsSections sections;
  sections.add("prefetch_options", prefetch.get());
  sections.add("eviction_options", eviction.get());
  const std::vector<DescribedObject> parts = {{&describe_driver(), &driver}, sections.described()};
  read_described(sections.known(value), "/driver", parts, errors, resolved);
  driver.prefetch_options = prefetch;
  driver.eviction_options = eviction;
  for (const auto& [key, size] : {std::pair("eviction_granularity", driver.eviction_granularity),
                                  {"uvm_perf_access_counter_granularity", driver.uvm_perf_access_counter_granularity}})
    if (size.value != kBlockBytes && size.value != kBigPageBytes)
      errors.push_back({place_of(std::string("/driver/") + key, value == nullptr ? "" : value->origin),
                        "expected \"2 MiB\" or \"64 KiB\""});
  if (driver.version.find_first_not_of("0123456789.") != std::string::npos || driver.version.size() < 3)
    errors.push_back({place_of("/driver/version", value == nullptr ? "" : value->origin),
                      "expected a version such as \"595.45.04\", got \"" + driver.version + "\""});
  return driver;
}

}  // namespace

std::optional<std::string> read_text_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

FileLoader beside_or_bundled(std::string file, std::string configs_folder) {
  return [file = std::move(file), folder = std::filesystem::path(configs_folder)](const std::string& path) {
    std::optional<std::string> text = read_text_file(path);
    if (text || path == file) return text;
    // A bundled file, or a copy of one, names others from its own folder: the longest end of the path that is bundled.
    const std::filesystem::path missing(path);
    for (auto from = missing.begin(); !text && from != missing.end(); ++from) {
      std::filesystem::path end;
      for (auto part = from; part != missing.end(); ++part) end /= *part;
      for (const auto& in : {folder, folder / "machines"})
        if (!text) text = read_text_file((in / end).string());
    }
    return text;
  };
}

const Description& describe_run() {
  using R = RunConfig;
  static const Description d =
      Describe<R>("how long to run")
          .integer("warmup", &R::warmup, "iterations before the measured ones", {0, 1'000'000}, "iterations")
          .integer("iterations", &R::iterations,
                   "measured iterations; even, because buffers may trade places every other iteration", {1, 1'000'000},
                   "iterations")
          .duration(
              "process_stagger", &R::process_stagger,
              "how much later each process of a data-parallel job starts, and goes on after a sum of gradients, than "
              "the one before it: identical processes in step would meet at every copy (assumed: any offset from 250 "
              "us to 10 ms gives the same)")
          .flag("from_host", &R::from_host,
                "before the measured iteration, the only one then, all managed memory is prefetched to the host, as "
                "when a job comes back that made room for another")
          .flag("audit", &R::audit, "check the driver's invariants as the run goes; slow")
          .build();
  return d;
}

// Coordinators are between processes, one per GPU, and know of explicit copies.
void check_coordinator(const Experiment& e, std::vector<InputError>& errors) {
  if (e.plan.coordinator == "none") return;
  if (e.workload.placement.memory != "device")
    errors.push_back({"/plan/coordinator",
                      "expected \"none\", or \"device\" as workload.memory: prefetches of managed "
                      "memory are not coordinated"});
  if (!e.workload.data_parallel)
    errors.push_back({"/plan/coordinator", "expected \"none\", or true as workload.data_parallel"});
}

void check_memory(const Experiment& e, std::vector<InputError>& errors) {
  if (e.workload.placement.memory != "system" || e.machine.gpus.empty() || has_ats(e.machine.gpus.front())) return;
  errors.push_back(
      {"/workload/memory",
       "expected \"managed\" or \"device\": the machine's GPUs have no ATS, which takes NVLink or C2C to the "
       "host and Volta or later"});
}

// What comes back from the host is one iteration's, and managed memory's.
void check_from_host(const Experiment& e, std::vector<InputError>& errors) {
  if (!e.run.from_host) return;
  if (e.run.iterations != 1) errors.push_back({"/run/iterations", "expected 1 where run.from_host is true"});
  if (e.run.warmup < 1) errors.push_back({"/run/warmup", "expected 1 or more where run.from_host is true"});
  if (e.workload.placement.memory != "managed")
    errors.push_back({"/run/from_host", "expected false, or \"managed\" as workload.memory"});
}

Experiment read_experiment(const JsonValue& document, const std::string& path, std::vector<InputError>& errors) {
  Experiment e;
  if (document.type != JsonValue::Type::Object) {
    errors.push_back({document.origin, "expected an object with machine, workload, driver and run"});
    return e;
  }
  const ExperimentHeader header = read_header(document, errors, e.resolved);
  e.name = header.name.empty() ? std::filesystem::path(path).stem().string() : header.name;
  e.description = header.description;

  const JsonValue* machine = document.find("machine");
  if (machine == nullptr)
    errors.push_back(
        {"/machine", R"(missing; expected an object such as {"extends": "machines/dgx1_v100_32gb.json"})"});
  else
    e.machine = read_machine(machine, "/machine", errors, e.resolved);
  e.machine.driver = read_driver(document.find("driver"), errors, e.resolved);
  e.workload = read_workload(document.find("workload"), "/workload", errors, e.resolved);
  const DescribedObject run{&describe_run(), &e.run};
  read_described(document.find("run"), "/run", {&run, 1}, errors, e.resolved);
  e.plan = read_plan_section(document.find("plan"), "/plan", errors, e.resolved);
  e.data = read_data_section(document.find("data"), "/data", e.machine, errors, e.resolved);
  check_coordinator(e, errors);
  check_memory(e, errors);
  check_from_host(e, errors);
  read_sweep_section(document, errors);  // what a sweep would vary; one experiment only checks it
  return e;
}

Experiment read_experiment(const std::string& path, const std::vector<std::string>& settings, const FileLoader& load) {
  std::vector<InputError> errors;
  JsonValue document = load_json(path, load, errors);
  for (const std::string& setting : settings)
    if (errors.empty()) apply_setting(document, setting, errors);
  // What stands in a document that could not be read whole is not worth judging.
  if (!errors.empty()) throw UserError(path, std::move(errors));

  Experiment experiment = read_experiment(document, path, errors);
  if (!errors.empty()) throw UserError(path, std::move(errors));
  return experiment;
}

Experiment read_experiment(const std::string& path, const std::vector<std::string>& settings) {
  return read_experiment(path, settings, read_text_file);
}

void parse_config_bytes(std::string_view text) {
  const auto only_file = [&](const std::string& path) {
    return path == "config.json" ? std::optional(std::string(text)) : std::nullopt;
  };
  try {
    read_experiment("config.json", {}, only_file);
  } catch (const UserError&) {
    // Most bytes are no config; what matters is that they are refused in order.
  }
}

}  // namespace uvmsim
