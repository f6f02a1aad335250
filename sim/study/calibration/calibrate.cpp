#include "study/calibration/calibrate.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/quantity.h"
#include "machine/description.h"
#include "study/validation/score.h"

namespace uvmsim {
namespace {

// The leaves of a machine file: what they are and where they come from.
ResolvedConfig read_leaves(const std::string& path, std::string& name) {
  std::vector<InputError> errors;
  const JsonValue document = load_json(path, read_text_file, errors);
  if (!errors.empty()) throw UserError(path, std::move(errors));
  ResolvedConfig leaves;
  name = read_machine(&document, "", errors, leaves).name;
  if (!errors.empty()) throw UserError(path, std::move(errors));
  return leaves;
}

// "/gpu/driver_costs/batch" as a key: "gpu.driver_costs.batch".
std::string key_of(const std::string& pointer) {
  std::string key = pointer.substr(1);
  std::ranges::replace(key, '/', '.');
  return key;
}

// The value of a leaf that is a time; nullopt for others.
std::optional<Duration> time_of(const ResolvedValue& leaf) {
  if (leaf.json.size() < 2 || leaf.json.front() != '"') return std::nullopt;
  return parse_duration(leaf.json.substr(1, leaf.json.size() - 2));
}

std::vector<FitParameter> start_of(const std::vector<std::string>& keys, const ResolvedConfig& leaves, double bound,
                                   const std::string& machine) {
  std::map<std::string, Duration> times;
  std::vector<std::string> known;
  for (const ResolvedValue& leaf : leaves)
    if (const auto time = time_of(leaf); time && *time > Duration{0}) {
      times[key_of(leaf.pointer)] = *time;
      known.push_back(key_of(leaf.pointer));
    }
  std::vector<FitParameter> parameters;
  std::vector<InputError> errors;
  for (const std::string& key : keys) {
    const auto found = times.find(key);
    if (found == times.end()) {
      errors.push_back({key, "no time above zero of " + machine + did_you_mean(key, known)});
      continue;
    }
    const double start = seconds(found->second);
    parameters.push_back({key, start, start / bound, start * bound});
  }
  if (!errors.empty()) throw UserError("calibration", std::move(errors));
  return parameters;
}

// Whole nanoseconds are enough for a cost, and read well; picoseconds below that.
Duration rounded(double value_s) {
  const double ps = value_s * 1e12;
  const double unit = ps >= 1e6 ? 1e4 : ps >= 1e4 ? 1e2 : 1;
  return Duration{static_cast<std::int64_t>(std::llround(ps / unit) * static_cast<std::int64_t>(unit))};
}

class Model {
 public:
  Model(const CalibrationRequest& request, const std::vector<Measurement>& measurements, std::string machine)
      : request_(request), measurements_(measurements), machine_(std::move(machine)) {}

  // The families with the parameters' values in their machines; without values: as they are.
  std::vector<CaseFamily> families(const std::vector<double>& values) const {
    CaseSources sources = request_.cases;
    for (std::size_t i = 0; i < values.size(); ++i)
      sources.settings.push_back("machine." + request_.parameters[i] + "=" + to_text(rounded(values[i])));
    std::vector<CaseFamily> all = read_families(sources, measurements_);
    for (CaseFamily& family : all)
      std::erase_if(family.cases, [&](const ValidationCase& one) {
        return std::ranges::any_of(one.runs, [&](const CaseRun& r) { return r.experiment.machine.name != machine_; });
      });
    std::erase_if(all, [](const CaseFamily& family) { return family.cases.empty(); });
    return all;
  }

  std::vector<double> predict(const std::vector<double>& values) {
    const std::vector<CaseFamily> with = families(values);
    std::vector<double> predicted;
    RunCasesOptions options{.processes = request_.processes, .cache = ""};
    if (request_.progress)
      options.progress = [&](double work, std::size_t, std::size_t all, const std::string&) {
        request_.progress(evaluations_ + work / static_cast<double>(all));
      };
    for (const Score& score : score_values(with, run_cases(with, options)))
      if (is_target(*score.of)) predicted.push_back(score.predicted.value_or(0));
    ++evaluations_;
    return predicted;
  }

  static bool is_target(const MeasuredValue& value) {
    return value.criterion == Criterion::Value && value.tolerance.relative > 0 && value.value > 0;
  }

 private:
  const CalibrationRequest& request_;
  const std::vector<Measurement>& measurements_;
  std::string machine_;
  int evaluations_ = 0;
};

std::vector<FitTarget> targets_of(const std::vector<CaseFamily>& families) {
  std::vector<FitTarget> targets;
  for (const CaseFamily& family : families) {
    const std::size_t first = targets.size();
    for (const ValidationCase& one : family.cases)
      for (const MeasuredValue& value : one.measured)
        if (Model::is_target(value)) targets.push_back({family.name + "/" + one.name + "/" + value.name, value.value});
    for (std::size_t i = first; i < targets.size(); ++i)
      targets[i].weight = 1.0 / static_cast<double>(targets.size() - first);
  }
  return targets;
}

}  // namespace

std::vector<std::string> calibration_parameters(const std::string& machine) {
  std::string name;
  std::vector<std::string> keys;
  for (const ResolvedValue& leaf : read_leaves(machine, name))
    if (leaf.pointer.starts_with("/gpu/driver_costs/") && time_of(leaf).value_or(Duration{0}) > Duration{0})
      keys.push_back(key_of(leaf.pointer));
  return keys;
}

Calibration calibrate(const CalibrationRequest& request, const std::vector<Measurement>& measurements) {
  Calibration c;
  const ResolvedConfig leaves = read_leaves(request.machine, c.machine);
  c.parameters = start_of(request.parameters, leaves, request.bound, c.machine);

  Model model(request, measurements, c.machine);
  const std::vector<CaseFamily> families = model.families({});
  std::vector<InputError> errors;
  for (const CaseFamily& family : families) {
    c.families.push_back(family.name);
    if (family.role != Role::Calibration)
      errors.push_back({family.file, "family " + family.name + " judges (role validation): nothing is fitted to it"});
  }
  c.targets = targets_of(families);
  if (c.targets.empty()) errors.push_back({request.machine, "no case to fit to runs on a machine named " + c.machine});
  if (!errors.empty()) throw UserError("calibration", std::move(errors));

  std::vector<double> start;
  for (const FitParameter& p : c.parameters) start.push_back(p.start);
  c.before = model.predict(start);
  c.fit = fit(
      c.parameters, c.targets, [&](const std::vector<double>& values) { return model.predict(values); },
      request.search);
  for (double& value : c.fit.values) value = seconds(rounded(value));
  return c;
}

}  // namespace uvmsim
