#include "cli/validate_command.h"

#include <algorithm>
#include <memory>
#include <ostream>
#include <set>
#include <thread>

#include "base/printable.h"
#include "base/user_error.h"
#include "cli/case_files.h"
#include "cli/config_files.h"
#include "cli/interrupt.h"
#include "cli/output_file.h"
#include "cli/progress_bar.h"
#include "report/table.h"
#include "study/calibration/joint_costs.h"
#include "study/validation/claims_page.h"
#include "study/validation/results_page.h"
#include "study/validation/score_text.h"

namespace uvmsim {
namespace {

struct ValidateArguments {
  std::vector<std::string> paths;
  std::vector<std::string> settings;
  std::string role;
  std::string cache;
  std::string results;
  int processes = 0;
  int timeout_s = 900;
  bool quick = false;
  bool known_gaps = false;
  bool json = false;
  bool verbose = false;
  bool quiet = false;
};

// Leaves out what was not asked for. Returns the deviations that values left out name.
std::set<int> select(std::vector<CaseFamily>& families, const ValidateArguments& arguments) {
  std::set<int> left_out;
  std::erase_if(families, [&](CaseFamily& family) {
    const bool other_role = !arguments.role.empty() && name_of(family.role) != arguments.role;
    std::erase_if(family.cases, [&](const ValidationCase& one) {
      const bool out = other_role || (arguments.quick && one.slow);
      if (out)
        for (const MeasuredValue& value : one.measured) left_out.insert(value.deviation);
      return out;
    });
    return family.cases.empty();
  });
  return left_out;
}

// Results of a part of the cases, or of other ones, are not the published errors.
void check_results(const ValidateArguments& arguments) {
  if (arguments.results.empty()) return;
  std::vector<InputError> errors;
  if (!arguments.paths.empty())
    errors.push_back({"paths", "expected none: the results are those of the bundled cases"});
  if (arguments.quick) errors.push_back({"--quick", "expected all cases"});
  if (!arguments.role.empty() && arguments.role != name_of(Role::Claim))
    errors.push_back({"--role", "expected claim, or none: the results are those of validation and calibration"});
  if (!arguments.settings.empty()) errors.push_back({"--set", "expected the cases as they are"});
  if (!errors.empty()) throw UserError("--results", std::move(errors));
}

void write_file(const std::string& path, const std::string& text) {
  OutputFile file(path);
  file.stream() << text;
  file.keep();
}

// Of the machine files whose machines are called like one of `names`.
std::vector<OwnCosts> bundled_own_costs(const std::vector<std::string>& names) {
  std::vector<OwnCosts> own_costs;
  for (const Machine& machine : bundled_machines())
    if (std::ranges::count(names, machine.name) > 0) own_costs.push_back(own_costs_of(machine));
  return own_costs;
}

// RESULTS.md and results.json: also what comes out where a host's calibration cases are left out of the fit.
void publish_results(const ValidateArguments& arguments, const CaseSources& sources,
                     const std::vector<Measurement>& measurements, const std::vector<CaseFamily>& families,
                     const RunCasesOptions& options, const std::vector<Score>& scores, const RunResults& results) {
  const std::string bundled = validation_folder();
  const JointCostsDescription joint = read_joint_costs(bundled + "/joint_costs.json");
  const std::vector<CaseFamily> left_out = left_out_families(joint, bundled + "/left_out", sources, measurements);
  const RunResults left_out_results = run_cases(left_out, options);
  if (end_requested()) return;
  const std::vector<Score> left_out_scores = score_values(left_out, left_out_results);
  const ScoredCases cases{scores, results, left_out_scores, left_out_results};
  std::vector<std::string> calibrated = machines_with_cases(joint);
  std::ranges::copy(machines_with_cases(read_joint_costs(bundled + "/joint_costs_power9.json")),
                    std::back_inserter(calibrated));
  PublishedErrors errors = publish(cases, calibrated);
  errors.own_costs = bundled_own_costs(calibrated);
  const std::vector<DeclaredUse> declared = read_uses(bundled + "/uses.json", read_text_file);
  write_file(arguments.results + "/RESULTS.md", results_page(cases, errors, uses_of(measurements, families, declared)));
  write_file(arguments.results + "/results.json", errors_json(errors));
}

void validate(ValidateArguments arguments, Console& console) {
  check_results(arguments);
  const std::string bundled = validation_folder();
  const bool claims = arguments.role == name_of(Role::Claim);
  if (arguments.paths.empty()) arguments.paths = {bundled + (claims ? "/claims" : "/cases")};
  const std::vector<Measurement> measurements = read_measurements(bundled + "/measurements.json", read_text_file);
  const CaseSources sources{
      .files = case_files(arguments.paths), .configs_folder = configs_folder(), .settings = arguments.settings};
  std::vector<CaseFamily> families = read_families(sources, measurements);
  const std::set<int> left_out = select(families, arguments);

  RunCasesOptions options{.processes = arguments.processes > 0 ? arguments.processes
                                                               : static_cast<int>(std::thread::hardware_concurrency()),
                          .timeout = std::chrono::seconds(arguments.timeout_s),
                          .cache = arguments.cache};
  ProgressBar bar(!arguments.quiet && shows_progress());
  options.progress = [&](double work, std::size_t done, std::size_t all, const std::string& current) {
    bar.show(work / static_cast<double>(all), std::to_string(done) + "/" + std::to_string(all) + " " + current);
  };
  const EndOnRequest end_on_request;
  options.stopped = end_requested;
  const RunResults results = run_cases(families, options);
  bar.erase();
  const std::vector<Score> scores = score_values(families, results);

  const bool writes = !arguments.results.empty() && !end_requested();
  if (writes && claims)
    write_file(arguments.results + "/CLAIMS.md", claims_page(scores));
  else if (writes)
    publish_results(arguments, sources, measurements, families, options, scores, results);
  console.out << (arguments.json ? score_json(scores) : folded(printable_lines(score_text(scores, arguments.verbose))));
  if (arguments.known_gaps) {
    const std::vector<std::string> gaps = unknown_gaps(scores, left_out);
    for (const std::string& gap : gaps) console.err << gap << "\n";
    if (!gaps.empty()) console.exit = ExitCode::CheckFailed;
  } else if (!std::ranges::all_of(scores, &Score::inside)) {
    console.exit = ExitCode::CheckFailed;
  }
  if (end_requested()) end_interrupted(console);
}

}  // namespace

void add_validate_command(Verb app, Console& console) {
  auto arguments = std::make_shared<ValidateArguments>();
  Verb validate_verb = app.verb("validate", "simulate what others have measured, and print the errors");
  validate_verb.option(
      "paths", arguments->paths,
      "bundled families by name, case files, or folders of them (validation/FORMAT.md); default: the bundled "
      "ones");
  validate_verb.option("--role", arguments->role, "only families of this role; claim: what papers say of their systems")
      .one_of({"calibration", "validation", "claim"});
  validate_verb.flag("--quick", arguments->quick, "leave out cases marked as slow");
  validate_verb.option("--set", arguments->settings, "KEY=VALUE, applied to every run; may be repeated").repeatable();
  validate_verb.option("-j,--jobs", arguments->processes, "runs at a time; default: the number of cores").positive();
  validate_verb.option("--timeout", arguments->timeout_s, "time limit of one run in seconds").positive().show_default();
  validate_verb.option("--cache", arguments->cache,
                       "keep results in this folder, and reuse those that this same program left there");
  validate_verb.flag("--known-gaps", arguments->known_gaps,
                     "exit 1 only for what DEVIATIONS.md does not know: values outside their tolerance that name no "
                     "deviation, and deviations that are closed");
  validate_verb
      .option("--results", arguments->results,
              "write RESULTS.md and results.json, which `run` reads its error bands from, into this folder; with "
              "--role claim, CLAIMS.md")
      .existing_folder();
  validate_verb.flag("--verbose", arguments->verbose, "list every value");
  validate_verb.flag("--json", arguments->json, "print one JSON object instead of tables");
  validate_verb.flag("--quiet", arguments->quiet, "no progress");
  validate_verb.run([arguments, &console] { validate(*arguments, console); });
}

}  // namespace uvmsim
