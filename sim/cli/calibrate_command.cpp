#include "cli/calibrate_command.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <thread>

#include "base/printable.h"
#include "cli/case_files.h"
#include "cli/config_files.h"
#include "cli/output_file.h"
#include "cli/progress_bar.h"
#include "study/calibration/calibrate.h"
#include "study/calibration/joint_costs.h"

namespace uvmsim {
namespace {

struct CalibrateArguments {
  std::string machine;
  std::string joint;
  std::string left_out;
  std::vector<std::string> cases;
  std::vector<std::string> parameters;
  std::string output;
  int processes = 0;
  int evaluations = 400;
  bool json = false;
  bool quiet = false;
};

// The file of a machine: itself, or a bundled one by name ("titan_v").
std::string machine_file(const std::string& name) {
  const std::string bundled = configs_folder() + "/machines/" + name + ".json";
  return std::filesystem::exists(name) || !std::filesystem::exists(bundled) ? name : bundled;
}

int processes_of(const CalibrateArguments& arguments) {
  return arguments.processes > 0 ? arguments.processes : static_cast<int>(std::thread::hardware_concurrency());
}

CaseSources cases_of(const CalibrateArguments& arguments) {
  return {.files = case_files(arguments.cases), .configs_folder = configs_folder(), .settings = {}};
}

std::vector<Measurement> measurements() {
  return read_measurements(validation_folder() + "/measurements.json", read_text_file);
}

void write_costs(const JointCosts& costs, std::size_t host, const std::string& folder, bool left_out) {
  OutputFile file(folder + "/" + costs.description.hosts[host].name + ".json");
  file.stream() << costs_file(costs, host, left_out);
  file.keep();
}

void run_joint_calibration(const CalibrateArguments& arguments, Console& console) {
  std::optional<OutputFolder> output, left_out;  // before the search
  if (!arguments.output.empty()) output.emplace(arguments.output);
  if (!arguments.left_out.empty()) left_out.emplace(arguments.left_out);
  JointCostsRequest request;
  request.description = read_joint_costs(arguments.joint);
  request.cases = cases_of(arguments);
  request.processes = processes_of(arguments);
  ProgressBar bar(!arguments.quiet && shows_progress());
  double furthest = 0;  // an iteration has several sets of simulations; those of slopes are by far the largest
  request.progress = [&](const JointCostsProgress& at) {
    const double share = at.work / static_cast<double>(std::max<std::size_t>(at.simulations, 1));
    furthest = std::max(furthest, (at.iteration + share) / kJointIterations);
    bar.show(furthest, "iteration " + std::to_string(at.iteration + 1) + " of at most " +
                           std::to_string(kJointIterations) + ", " + std::to_string(static_cast<int>(at.work)) + "/" +
                           std::to_string(at.simulations) + " simulations");
  };
  const JointCosts costs = fit_joint_costs(request, measurements());
  bar.erase();
  console.out << joint_costs_text(costs);
  for (std::size_t h = 0; h < costs.description.hosts.size(); ++h) {
    if (!arguments.output.empty()) write_costs(costs, h, arguments.output, false);
    if (!arguments.left_out.empty() && !costs.families[h].empty()) write_costs(costs, h, arguments.left_out, true);
  }
}

void run_calibration(const CalibrateArguments& arguments, Console& console) {
  if (!arguments.joint.empty()) return run_joint_calibration(arguments, console);
  CalibrationRequest request;
  request.machine = machine_file(arguments.machine);
  request.cases = cases_of(arguments);
  request.parameters = arguments.parameters.empty() ? calibration_parameters(request.machine) : arguments.parameters;
  request.processes = processes_of(arguments);
  request.search.evaluations = arguments.evaluations;
  std::optional<OutputFile> file;  // before the search
  if (!arguments.output.empty()) file.emplace(arguments.output, std::vector{request.machine});
  ProgressBar bar(!arguments.quiet && shows_progress());
  request.progress = [&](double done) {
    bar.show(done / arguments.evaluations, std::to_string(static_cast<int>(done)) +
                                               " sets of simulations, of at most " +
                                               std::to_string(arguments.evaluations));
  };
  const Calibration calibration = calibrate(request, measurements());
  bar.erase();

  console.out << (arguments.json ? calibration_json(calibration) : printable_lines(calibration_text(calibration)));
  if (!file) return;
  file->stream() << machine_text(calibration, request.machine,
                                 std::filesystem::absolute(arguments.output).parent_path().string());
  file->keep();
}

}  // namespace

void add_calibrate_command(Verb app, Console& console) {
  auto arguments = std::make_shared<CalibrateArguments>();
  Verb verb = app.verb("calibrate", "fit a machine's costs to its calibration cases");
  Option machine = verb.option("machine", arguments->machine, "a machine file, or the name of a bundled one");
  Option joint = verb.option("--joint", arguments->joint,
                             "fit all hosts of this description (validation/joint_costs.json) together")
                     .excludes(machine);
  verb.option("--left-out", arguments->left_out,
              "with --joint: write to this folder what each host gets when its own cases are left out")
      .existing_folder()
      .needs(joint);
  verb.option("--cases", arguments->cases, "families by name, case files, or folders of them, of role calibration")
      .required();
  verb.option("--parameters", arguments->parameters,
              "keys of the machine, such as gpu.driver_costs.batch; default: every cost of a driver step")
      .comma_separated();
  verb.option("-o,--output", arguments->output,
              "write the machine with its fitted values to this file; with --joint: a file per host to this folder");
  verb.option("--evaluations", arguments->evaluations, "at most this many sets of simulations")
      .positive()
      .show_default();
  verb.option("-j,--jobs", arguments->processes, "simulations at a time; default: the number of cores").positive();
  verb.flag("--json", arguments->json, "print one JSON object instead of tables");
  verb.flag("--quiet", arguments->quiet, "no progress");
  verb.run([arguments, &console] {
    if (arguments->machine.empty() && arguments->joint.empty())
      throw UserError("calibrate", "expected a machine or --joint");
    run_calibration(*arguments, console);
  });
}

}  // namespace uvmsim
