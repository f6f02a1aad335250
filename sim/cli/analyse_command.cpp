#include "cli/analyse_command.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "base/printable.h"
#include "base/user_error.h"
#include "cli/config_files.h"
#include "report/view.h"
#include "study/simulate.h"
#include "trace/reader.h"

namespace uvmsim {
namespace {

constexpr std::size_t kBriefRows = 8;

struct AnalyseArguments {
  ConfigArguments config;
  std::vector<std::string> views;
  int rows = 0;  // 0: all of a view that --view names, else kBriefRows
  bool json = false;
};

// What is analysed, and the machine that it is held against.
struct Subject {
  Experiment experiment;
  trace::Trace trace;
};

// A trace is analysed as it was recorded.
Subject subject_of(const ConfigArguments& arguments) {
  Subject subject{read_config(arguments), {}};
  const WorkloadConfig& workload = subject.experiment.workload;
  subject.trace = workload.trace.empty() ? make_trace(subject.experiment) : trace::read_trace(workload.trace);
  if (workload.trace.empty()) return subject;
  for (const auto& transform : workload.transforms) subject.trace = transform->apply(std::move(subject.trace));
  return subject;
}

// The first GPUs of the bundled machines, each once.
std::vector<GpuCapacity> bundled_gpus() {
  std::vector<GpuCapacity> gpus;
  for (const Machine& machine : bundled_machines()) {
    const GpuSpec& gpu = machine.gpus.front();
    if (std::ranges::find(gpus, gpu.name, &GpuCapacity::name) == gpus.end())
      gpus.push_back({gpu.name, gpu.usable_memory});
  }
  return gpus;
}

ViewSetting setting_of(const Experiment& experiment) {
  return {.links = link_model(experiment.machine, GpuIndex{}),
          .launch = experiment.machine.host.runtime.kernel_launch,
          .nodes = node_links(experiment.machine, GpuIndex{}),
          .placement = placement_of(experiment),
          .gpus = bundled_gpus()};
}

// UserError with each name that is no view.
std::vector<std::string> names_of(const std::vector<std::string>& asked) {
  if (asked.empty()) return views().names();
  std::vector<InputError> errors;
  for (const std::string& name : asked)
    if (!views().has(name)) errors.push_back(views().unknown("--view", name));
  if (!errors.empty()) throw UserError("analyse", std::move(errors));
  return asked;
}

// What views cannot show of the trace.
std::vector<std::string> unknowns_of(const trace::Trace& trace) {
  std::vector<std::string> unknowns = trace.header.unknowns;
  const bool any = std::ranges::any_of(
      trace.records, [](const trace::Record& record) { return std::holds_alternative<trace::Alloc>(record); });
  if (!any) unknowns.emplace_back("no allocation is recorded: views of memory show nothing");
  return unknowns;
}

void analyse(const AnalyseArguments& arguments, Console& console) {
  const std::vector<std::string> names = names_of(arguments.views);
  const Subject subject = subject_of(arguments.config);
  const ViewInput input(subject.trace, setting_of(subject.experiment));
  if (input.iterations.empty())
    throw UserError(arguments.config.config, "there is nothing to analyse: the trace has no kernels");
  std::vector<ViewTable> tables;
  for (const std::string& name : names) tables.push_back(run_view(name, input));
  if (arguments.json) {
    console.out << to_json(subject.trace.header.name, unknowns_of(subject.trace), names, tables);
    return;
  }
  std::size_t rows = arguments.views.empty() ? kBriefRows : std::numeric_limits<std::size_t>::max();
  if (arguments.rows > 0) rows = static_cast<std::size_t>(arguments.rows);
  console.out << printable(subject.trace.header.name) << " with " << printable(subject.experiment.machine.name) << "\n";
  for (const std::string& unknown : unknowns_of(subject.trace))
    console.out << "  unknown: " << printable(unknown) << "\n";
  for (std::size_t i = 0; i < names.size(); ++i)
    console.out << "\n" << names[i] << ": " << printable_lines(to_text(tables[i], rows));
}

}  // namespace

void add_analyse_command(Verb app, Console& console) {
  auto arguments = std::make_shared<AnalyseArguments>();
  Verb verb = app.verb("analyse", "show how a program uses memory: intervals, lifetimes, periods, layers, ...");
  add_config_options(verb, arguments->config);
  verb.option("--view", arguments->views,
              "names from `uvmsim list view`, separated by commas: all their rows; default: all views, in brief")
      .comma_separated();
  verb.option("--rows", arguments->rows, "at most this many of each view").in_range(1, 1'000'000);
  verb.flag("--json", arguments->json, "print one JSON object, with every number exact");
  verb.run([arguments, &console] { analyse(*arguments, console); });
}

}  // namespace uvmsim
