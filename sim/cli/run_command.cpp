#include "cli/run_command.h"

#include <cstdlib>
#include <memory>
#include <ostream>
#include <unistd.h>

#include "base/number_text.h"
#include "base/user_error.h"
#include "cli/config_files.h"
#include "cli/output_file.h"
#include "cli/plan_command.h"
#include "cli/planning_bar.h"
#include "cli/progress_bar.h"
#include "cli/result_folder.h"
#include "cli/terminal.h"
#include "cli/timeline_file.h"
#include "plan/plan_json.h"
#include "plan/plan_of_calls.h"
#include "report/json.h"
#include "report/text.h"
#include "study/simulate.h"
#include "study/validation/results_page.h"

namespace uvmsim {
namespace {

struct RunArguments {
  ConfigArguments config;
  std::string folder;
  std::string plan;
  std::string under_plan;
  TimelineArguments timeline;
  bool json = false;
  bool overwrite = false;
  bool no_in_core = false;
  bool quiet = false;
};

// What the published errors say about runs like this one; nothing when none are installed, or nothing ran.
std::optional<Trust> trust_of(const Experiment& experiment, const Report& report) {
  const std::optional<PublishedErrors> errors = published_errors();
  if (!errors || report.outcome != Outcome::Completed) return std::nullopt;
  Trust trust =
      trust_in(traits_of(experiment, report.run.workload, report.summary.gpus.size(), report.summary.reserved_bytes),
               errors->families);
  trust.band = band_of(*errors, experiment.machine, report.summary.gpus, report.summary.duration_s);
  return trust;
}

void run_experiment(const RunArguments& arguments, Console& console) {
  const Experiment experiment = read_config(arguments.config);
  if (!arguments.folder.empty() && experiment.workload.measured_on)
    throw UserError("-o " + arguments.folder,
                    "a kept configuration could not repeat this run: it has no key for durations that are scaled from "
                    "another GPU; scale a trace instead (uvmsim trace retarget)");
  std::optional<ResultFolder> folder;
  const std::vector<std::string> inputs = {experiment.file, experiment.workload.trace, arguments.under_plan};
  if (!arguments.folder.empty()) folder.emplace(arguments.folder, experiment, arguments.overwrite, inputs);
  Timeline timeline(timeline_options(arguments.timeline));
  std::optional<TimelineFile> timeline_file;
  if (!arguments.timeline.path.empty()) timeline_file.emplace(arguments.timeline.path, inputs);
  Observations observations;

  std::optional<OutputFile> plan;
  if (!arguments.plan.empty()) {
    if (experiment.workload.calls.empty())
      throw UserError("--plan-out " + arguments.plan, "there are no calls to write: workload.calls is empty");
    plan.emplace(arguments.plan, inputs);
  }

  std::optional<PlanFile> under_plan;
  if (!arguments.under_plan.empty()) under_plan = read_plan_file(arguments.under_plan);

  const bool shown = !arguments.quiet && shows_progress();
  PlanningBar planning(shown && experiment.plan.parameters != nullptr && !under_plan);
  ProgressBar bar(shown);
  SimulationOptions options{.references = !arguments.no_in_core};
  options.planning = planning.progress();
  options.progress = [&](double share, Time simulated) {
    planning.stop();
    bar.show(share, seconds_text(seconds(simulated)) + " simulated");
  };
  if (timeline_file) options.timeline = &timeline;
  if (under_plan) options.plans = &under_plan->plans;
  if (folder) options.observations = &observations;
  if (plan)
    options.traced = [&](const trace::Trace& trace) {
      std::string planner;
      for (const NamedCallPolicy& calls : experiment.workload.calls)
        planner += (planner.empty() ? "" : ",") + calls.name;
      plan->stream() << to_json(PlanFile{trace.header.name, plans_of_calls(trace, planner)});
    };
  Report report = simulate(experiment, options);
  planning.stop();
  bar.erase();
  const auto& operands = report.run.setup.operands;
  if (!operands || operands->enough) report.trust = trust_of(experiment, report);

  if (folder) folder->keep(experiment, report, observations);
  if (timeline_file) timeline_file->keep(timeline);
  if (plan) plan->keep();
  console.out << (arguments.json ? to_json(report) : to_text(report, wants_colour(STDOUT_FILENO)));
  if (report.outcome != Outcome::Completed) console.exit = ExitCode::Incomplete;
}

}  // namespace

void add_run_command(Verb app, Console& console) {
  auto arguments = std::make_shared<RunArguments>();
  Verb run = app.verb("run", "simulate an experiment and print the result");
  add_config_options(run, arguments->config);
  run.flag("--json", arguments->json, "print one JSON object (sim/report/RESULT.md) instead of tables");
  run.option("-o,--output", arguments->folder,
             "keep config.json, manifest.json, result.json, result.txt and observations.json in this folder");
  run.flag("--overwrite", arguments->overwrite, "with -o: replace the result of another configuration");
  run.option("--plan", arguments->under_plan, "run under the plans in this file (sim/plan/PLAN.md)");
  run.option("--plan-out", arguments->plan,
             "write the calls of workload.calls to this file as a plan (sim/plan/PLAN.md)");
  add_timeline_options(run, arguments->timeline);
  run.flag("--no-in-core", arguments->no_in_core, "do not simulate the references with enough GPU memory");
  run.flag("--quiet", arguments->quiet, "no progress bar");
  run.run([arguments, &console] { run_experiment(*arguments, console); });
}

}  // namespace uvmsim
