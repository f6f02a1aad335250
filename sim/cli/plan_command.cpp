#include "cli/plan_command.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <vector>

#include "base/printable.h"
#include "base/user_error.h"
#include "cli/config_files.h"
#include "cli/output_file.h"
#include "cli/planning_bar.h"
#include "cli/progress_bar.h"
#include "plan/plan_choices.h"
#include "study/plan_need.h"
#include "study/plan_program.h"
#include "study/plan_view.h"
#include "study/planning.h"
#include "study/simulate.h"

namespace uvmsim {
namespace {

struct PlanArguments {
  ConfigArguments config;
  std::string output, a, b;
  std::vector<std::string> largest;  // of need
  bool json = false;                 // of diff, need and show
  bool tensors = false;              // of diff
  std::string plan;                  // of show
  bool quiet = false;
  int intervals = 10, layers = 10, parts = 16;
};

void make(const PlanArguments& arguments, Console& console) {
  if (arguments.config.config.empty()) throw UserError("uvmsim plan", "expected a config, or `diff` and two files");
  const Experiment experiment = read_config(arguments.config);
  std::optional<OutputFile> output;
  if (!arguments.output.empty())
    output.emplace(arguments.output, std::vector{experiment.file, experiment.workload.trace});
  PlanningBar bar(!arguments.quiet && shows_progress());
  const PlanFile file = make_plans(experiment, make_trace(experiment), bar.progress());
  bar.stop();
  if (!output) {
    console.out << to_json(file);
    return;
  }
  output->stream() << to_json(file);
  output->keep();
  for (const Plan& plan : file.plans)
    console.out << "gpu" << plan.gpu.value << ": " << plan.actions.size() << " actions; "
                << (plan.feasible ? "fits" : "does not fit by itself, the rest is reclaimed on demand") << "; "
                << printable(plan.why) << "\n";
}

void need(const PlanArguments& arguments, Console& console) {
  const Experiment experiment = read_config(arguments.config);
  PlanningBar bar(!arguments.quiet && shows_progress());
  PlanNeed found = plan_need(experiment, make_trace(experiment));
  for (const std::string& parameter : arguments.largest)
    found.largest.push_back(largest_that_fits(experiment, parameter));
  bar.stop();
  console.out << (arguments.json ? to_json(found, experiment) : printable_lines(to_text(found, experiment)));
}

// The plan of `profile` among `plans`; nullptr: none is for it.
const Plan* plan_of(const std::vector<Plan>& plans, const Profile& profile) {
  const auto found = std::ranges::find_if(
      plans, [&](const Plan& p) { return p.gpu == profile.gpu && p.iteration == profile.shape(); });
  return found == plans.end() ? nullptr : &*found;
}

void show(const PlanArguments& arguments, Console& console) {
  const Experiment experiment = read_config(arguments.config);
  PlanningBar bar(!arguments.quiet && shows_progress());
  trace::Trace trace = make_trace(experiment);
  std::vector<Plan> plans;
  if (!arguments.plan.empty())
    plans = read_plan_file(arguments.plan).plans;
  else if (experiment.plan.parameters != nullptr)
    plans = make_plans(experiment, trace, bar.progress()).plans;
  trace = planned_program(experiment, std::move(trace), plans);
  std::vector<PlanView> views;
  for (const std::vector<Profile>& group : profiles_of(experiment, trace))
    for (const Profile& profile : group)
      views.push_back(view_plan(profile, plan_of(plans, profile), limits_of(experiment, profile.gpu),
                                static_cast<std::size_t>(arguments.intervals),
                                static_cast<std::size_t>(arguments.layers), static_cast<std::size_t>(arguments.parts)));
  bar.stop();
  if (arguments.json) {
    console.out << to_json(views);
  } else {
    for (const PlanView& view : views)
      console.out << (&view == views.data() ? "" : "\n") << printable_lines(to_text(view));
  }
  const bool any = std::ranges::any_of(views, [](const PlanView& v) { return v.plan.has_value(); });
  if (!plans.empty() && !any)
    throw UserError("the plan does not fit the workload",
                    "no measured iteration of " + trace.header.name + " has the kernels and allocations it is for");
  for (const PlanView& view : views)
    if (view.proof && !view.proof->errors.empty()) console.exit = ExitCode::CheckFailed;
}

void compare(const PlanArguments& arguments, Console& console) {
  const PlanFile a = read_plan_file(arguments.a), b = read_plan_file(arguments.b);
  const std::vector<std::string> lines = arguments.tensors ? choices_diff(a, b) : diff(a, b);
  if (arguments.json) {
    console.out << nlohmann::ordered_json{{"differences", lines}}.dump(1) << "\n";
  } else {
    for (const std::string& line : lines) console.out << printable(line) << "\n";
  }
  if (!lines.empty()) console.exit = ExitCode::CheckFailed;
}

}  // namespace

PlanFile read_plan_file(const std::string& path) {
  const std::optional<std::string> text = read_text_file(path);
  if (!text) throw UserError(path, "cannot be read");
  return read_plans(*text, path);
}

void add_plan_command(Verb app, Console& console) {
  auto arguments = std::make_shared<PlanArguments>();
  Verb plan = app.verb("plan", "plan what happens to tensors while no kernel uses them");
  add_config_options(plan, arguments->config, false);
  plan.option("-o,--output", arguments->output, "write the plans to this file; default: print them");
  plan.flag("--quiet", arguments->quiet, "no progress bar");
  Verb difference = plan.verb("diff", "show where two plan files differ; exit status 1 if they do");
  difference.option("a", arguments->a, "a file of plans").required();
  difference.option("b", arguments->b, "another file of plans").required();
  difference.flag("--tensors", arguments->tensors,
                  "show what each planner chose for each tensor and idle interval, then the totals");
  difference.flag("--json", arguments->json, "print one JSON object: the lines, in an array");
  Verb least = plan.verb("need", "find the smallest memory into which a plan of the configured planner fits");
  add_config_options(least, arguments->config);
  least
      .option(
          "--largest", arguments->largest,
          "also the largest value with which it fits of these whole-number parameters of the workload, such as batch")
      .comma_separated();
  least.flag("--json", arguments->json, "print one JSON object");
  least.flag("--quiet", arguments->quiet, "no progress bar");
  Verb view = plan.verb("show",
                        "show an iteration as planners see it (load, idle intervals, layers), and check a plan; exit "
                        "status 1 if it fails");
  add_config_options(view, arguments->config);
  view.option("--plan", arguments->plan,
              "a file of plans; default: what the configured planner makes, if there is one");
  view.option("--intervals", arguments->intervals, "idle intervals to list, the largest first")
      .in_range(0, 1'000'000)
      .show_default();
  view.option("--layers", arguments->layers, "layers to list, those with most feature maps first")
      .in_range(0, 1'000'000)
      .show_default();
  view.option("--parts", arguments->parts, "parts of the load curve").in_range(1, 1'000'000).show_default();
  view.flag("--json", arguments->json, "print one JSON object");
  view.flag("--quiet", arguments->quiet, "no progress bar");
  plan.run([arguments, difference, least, view, &console] {
    if (difference.given()) return compare(*arguments, console);
    if (least.given()) return need(*arguments, console);
    view.given() ? show(*arguments, console) : make(*arguments, console);
  });
}

}  // namespace uvmsim
