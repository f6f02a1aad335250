#include "cli/calibrate_command.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <ostream>
#include <thread>
#include <unistd.h>

#include "cli/case_files.h"
#include "cli/config_files.h"
#include "cli/output_file.h"
#include "study/calibration/calibrate.h"

namespace uvmsim {
namespace {

struct CalibrateArguments {
  std::string machine;
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

void run_calibration(const CalibrateArguments& arguments, Console& console) {
  CalibrationRequest request;
  request.machine = machine_file(arguments.machine);
  request.cases = {.files = case_files(arguments.cases), .configs_folder = configs_folder(), .settings = {}};
  request.parameters = arguments.parameters.empty() ? calibration_parameters(request.machine) : arguments.parameters;
  request.processes =
      arguments.processes > 0 ? arguments.processes : static_cast<int>(std::thread::hardware_concurrency());
  request.search.evaluations = arguments.evaluations;
  const bool show = !arguments.quiet && isatty(STDERR_FILENO) != 0;
  if (show) request.progress = [](int done) { std::fprintf(stderr, "\r%d evaluations\x1b[K", done); };
  const Calibration calibration =
      calibrate(request, read_measurements(validation_folder() + "/measurements.json", read_text_file));
  if (show) std::fputs("\r\x1b[K", stderr);

  console.out << (arguments.json ? calibration_json(calibration) : calibration_text(calibration));
  if (arguments.output.empty()) return;
  OutputFile file(arguments.output);
  file.stream() << machine_text(calibration, request.machine,
                                std::filesystem::path(arguments.output).parent_path().string());
  file.keep();
}

}  // namespace

void add_calibrate_command(CLI::App& app, Console& console) {
  auto arguments = std::make_shared<CalibrateArguments>();
  CLI::App* verb = app.add_subcommand("calibrate", "fit a machine's costs to its calibration cases");
  verb->add_option("machine", arguments->machine, "a machine file, or the name of a bundled one")->required();
  verb->add_option("--cases", arguments->cases, "case files, or folders of them, of role calibration")->required();
  verb->add_option("--parameters", arguments->parameters,
                   "keys of the machine, such as gpu.driver_costs.batch; default: every cost of a driver step")
      ->delimiter(',');
  verb->add_option("-o,--output", arguments->output, "write the machine with its fitted values to this file");
  verb->add_option("--evaluations", arguments->evaluations, "most sets of simulations of the search")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  verb->add_option("-j,--jobs", arguments->processes, "simulations at a time; default: the number of cores")
      ->check(CLI::PositiveNumber);
  verb->add_flag("--json", arguments->json, "print one JSON object instead of tables");
  verb->add_flag("--quiet", arguments->quiet, "no progress");
  verb->callback([arguments, &console] { run_calibration(*arguments, console); });
}

}  // namespace uvmsim
