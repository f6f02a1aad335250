#include "study/calibration/joint_costs.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <set>

#include "base/quantity.h"
#include "study/validation/object_reader.h"
#include "study/validation/run_cases.h"
#include "study/validation/score.h"

namespace uvmsim {
namespace {

// Of times, and of times over others.
const std::set<std::string> kUnits = {"s", "ms", "us", "ns", "x"};

class DescriptionReader {
 public:
  explicit DescriptionReader(const std::string& path) { read_.file = path; }

  JointCostsDescription read() {
    const JsonValue document = load_json(read_.file, read_text_file, errors_);
    if (errors_.empty()) {
      ObjectReader in(document, "", errors_);
      read_prior(in);
      each(in, "steps", [&](const std::string& name, ObjectReader& step) { read_step(name, step); });
      each(in, "hosts", [&](const std::string& name, ObjectReader& host) { read_host(name, host); });
      in.refuse_the_rest();
    }
    if (!errors_.empty()) throw UserError(read_.file, std::move(errors_));
    return std::move(read_);
  }

 private:
  // A number above zero that must be there.
  double positive(ObjectReader& in, std::string_view key) {
    const double value = in.number(key).value_or(0);
    if (!(value > 0)) in.error(key, "expected a number above 0");
    return value;
  }

  void read_prior(ObjectReader& outer) {
    const JsonValue* value = outer.find("prior");
    if (value == nullptr) return outer.error("prior", "missing; expected an object");
    ObjectReader in(*value, outer.pointer("prior"), errors_);
    read_.prior = {positive(in, "common"), positive(in, "kind"), positive(in, "slowness"), positive(in, "own")};
    read_.model_error = positive(in, "model_error");
    read_.degrees_of_freedom = positive(in, "degrees_of_freedom");
    in.refuse_the_rest();
  }

  template <class Read>
  void each(ObjectReader& outer, std::string_view key, Read read) {
    const JsonValue* value = outer.find(key);
    if (value == nullptr || value->members.empty())
      return outer.error(key, "expected an object of one member at least");
    for (const JsonMember& member : value->members) {
      ObjectReader in(member.value, pointer_to(outer.pointer(key), member.key), errors_);
      read(member.key, in);
      in.refuse_the_rest();
    }
  }

  void read_step(const std::string& name, ObjectReader& in) {
    JointCostsDescription::Step step{name, {}, in.flag("fitted"), in.text("source").value_or("")};
    const std::optional<Duration> common = parse_duration(in.required_text("common"));
    if (!common || *common <= Duration{0}) in.error("common", "expected a time above 0, such as 25 us");
    step.common = common.value_or(Duration{1});
    if (!step.fitted && step.source.empty()) in.error("source", "missing; a step that is not fitted needs one");
    read_.steps.push_back(std::move(step));
  }

  void read_host(const std::string& name, ObjectReader& in) {
    JointCostsDescription::Host host{
        name, in.required_text("kind"), {}, positive(in, "slowness"), in.required_text("source")};
    for (const JsonValue* machine : in.list("machines")) host.machines.push_back(machine->text);
    read_.hosts.push_back(std::move(host));
  }

  JointCostsDescription read_;
  std::vector<InputError> errors_;
};

// Three figures, in whole picoseconds.
Duration rounded(double time_s) {
  const double ps = time_s * 1e12;
  const double unit = std::max(1.0, std::pow(10, std::floor(std::log10(std::max(1.0, ps))) - 2));
  return Duration{std::llround(ps / unit) * std::llround(unit)};
}

bool is_target(const MeasuredValue& value) {
  return value.criterion == Criterion::Value && value.value > 0 && kUnits.contains(value.unit);
}

// Leaves out the cases of other machines, and families without a case.
void keep_machines(std::vector<CaseFamily>& families, const std::vector<std::string>& machines) {
  const auto elsewhere = [&](const CaseRun& run) {
    return std::ranges::find(machines, run.experiment.machine.name) == machines.end();
  };
  for (CaseFamily& family : families)
    std::erase_if(family.cases, [&](const ValidationCase& one) { return std::ranges::any_of(one.runs, elsewhere); });
  std::erase_if(families, [](const CaseFamily& family) { return family.cases.empty(); });
}

// What a file of costs_file says, as settings.
std::vector<std::string> settings_in(const std::string& file) {
  std::vector<InputError> errors;
  const JsonValue document = load_json(file, read_text_file, errors);
  std::vector<std::string> settings;
  for (const JsonMember& step : document.members)
    if (is_annotated(step.value))
      settings.push_back("machine.gpu.driver_costs." + step.key + "=" + step.value.find("value")->text);
  if (errors.empty() && settings.empty()) errors.push_back({file, "expected what `uvmsim calibrate --joint` writes"});
  if (!errors.empty()) throw UserError(file, std::move(errors));
  return settings;
}

// Families of one name as one: their cases are of several hosts.
std::vector<CaseFamily> merged(std::vector<CaseFamily> families) {
  std::vector<CaseFamily> whole;
  for (CaseFamily& family : families) {
    const auto found = std::ranges::find(whole, family.name, &CaseFamily::name);
    if (found == whole.end())
      whole.push_back(std::move(family));
    else
      std::ranges::move(family.cases, std::back_inserter(found->cases));
  }
  std::ranges::sort(whole, {}, &CaseFamily::name);
  return whole;
}

class Model {
 public:
  Model(const JointCostsRequest& request, const std::vector<Measurement>& measurements)
      : request_(request), measurements_(measurements), files_(request.description.hosts.size(), request.cases.files) {
    // From here on only files that have cases of the host are read.
    for (std::size_t h = 0; h < files_.size(); ++h) {
      std::vector<std::string> with_cases;
      if (!request.description.hosts[h].machines.empty())
        for (const CaseFamily& family : families(h, request.description.common(), false))
          with_cases.push_back(family.file);
      files_[h] = std::move(with_cases);
    }
  }

  void begin(int iteration) { iteration_ = iteration; }

  // The calibration cases of a host's machines, with these times.
  std::vector<CaseFamily> families(std::size_t host, const StepTimes& times, bool surrogates) const {
    CaseSources sources = request_.cases;
    sources.files = files_[host];
    sources.surrogates = surrogates;
    const JointCostsDescription& of = request_.description;
    for (std::string& setting : cost_settings(of, times)) sources.settings.push_back(std::move(setting));
    std::vector<CaseFamily> all = read_families(sources, measurements_);
    for (CaseFamily& family : all)
      std::erase_if(family.cases,
                    [](const ValidationCase& one) { return std::ranges::none_of(one.measured, is_target); });
    std::erase_if(all, [](const CaseFamily& family) { return family.role != Role::Calibration; });
    keep_machines(all, of.hosts[host].machines);
    return all;
  }

  std::vector<std::vector<double>> predict(const std::vector<JointQuery>& queries, bool surrogates) const {
    std::vector<CaseFamily> all;
    std::vector<std::size_t> query_of;  // each of them
    for (std::size_t q = 0; q < queries.size(); ++q)
      for (CaseFamily& family : families(queries[q].host, queries[q].times, surrogates)) {
        all.push_back(std::move(family));
        query_of.push_back(q);
      }
    RunCasesOptions options{.processes = request_.processes, .cache = ""};
    if (request_.progress)
      options.progress = [&](double work, std::size_t, std::size_t simulations, const std::string&) {
        request_.progress({iteration_, work, simulations});
      };
    const RunResults results = run_cases(all, options);
    std::vector<std::vector<double>> predictions(queries.size());
    for (const Score& score : score_values(all, results))
      if (is_target(*score.of))
        predictions[query_of[static_cast<std::size_t>(score.family - all.data())]].push_back(
            score.predicted.value_or(0));
    return predictions;
  }

 private:
  const JointCostsRequest& request_;
  const std::vector<Measurement>& measurements_;
  std::vector<std::vector<std::string>> files_;  // by host
  int iteration_ = 0;
};

void add_targets(const std::vector<CaseFamily>& families, double model_error, JointHost& host,
                 std::vector<std::string>& names) {
  for (const CaseFamily& family : families) {
    const std::size_t first = host.targets.size();
    for (const ValidationCase& one : family.cases)
      for (const MeasuredValue& value : one.measured)
        if (is_target(value))
          host.targets.push_back({family.name + "/" + one.name + "/" + value.name, value.value,
                                  std::pow(model_error, 2) + std::pow(value.uncertainty.value_or(0), 2)});
    const double share = std::sqrt(static_cast<double>(host.targets.size() - first));
    for (std::size_t i = first; i < host.targets.size(); ++i) host.targets[i].weight = 1 / share;
    names.push_back(family.name);
  }
}

}  // namespace

StepTimes JointCostsDescription::common() const {
  StepTimes times;
  for (const Step& step : steps) times.push_back(seconds(step.common));
  return times;
}

JointCostsDescription read_joint_costs(const std::string& path) { return DescriptionReader(path).read(); }

std::vector<std::string> cost_settings(const JointCostsDescription& of, const StepTimes& times) {
  std::vector<std::string> settings;
  for (std::size_t k = 0; k < of.steps.size(); ++k)
    settings.push_back("machine.gpu.driver_costs." + of.steps[k].name + "=" + to_text(rounded(times[k])));
  return settings;
}

JointCosts fit_joint_costs(const JointCostsRequest& request, const std::vector<Measurement>& measurements) {
  const JointCostsDescription& of = request.description;
  Model model(request, measurements);
  JointCosts costs{of, {}, {}, {}};
  JointProblem& problem = costs.problem;
  problem.prior = of.prior;
  problem.degrees_of_freedom = of.degrees_of_freedom;
  for (const JointCostsDescription::Step& step : of.steps)
    problem.steps.push_back({step.name, seconds(step.common), step.fitted});
  for (std::size_t h = 0; h < of.hosts.size(); ++h) {
    problem.hosts.push_back({of.hosts[h].name, of.hosts[h].kind, of.hosts[h].slowness, {}});
    costs.families.emplace_back();
    add_targets(model.families(h, of.common(), false), of.model_error, problem.hosts.back(), costs.families.back());
  }
  if (std::ranges::all_of(problem.hosts, [](const JointHost& host) { return host.targets.empty(); }))
    throw UserError("calibration", {{of.file, "no calibration case has a time on a machine of one of the hosts"}});

  problem.predict = [&](const std::vector<JointQuery>& queries) { return model.predict(queries, false); };
  problem.slope = [&](const std::vector<JointQuery>& queries) { return model.predict(queries, true); };
  problem.begins = [&](int iteration) { model.begin(iteration); };
  costs.fit = fit_jointly(problem);
  problem.predict = problem.slope = {};
  problem.begins = {};
  for (std::vector<StepTimes>* hosts : {&costs.fit.times, &costs.fit.left_out})
    for (StepTimes& times : *hosts)
      for (double& time : times) time = seconds(rounded(time));
  for (double& time : costs.fit.common) time = seconds(rounded(time));
  return costs;
}

std::vector<std::string> machines_with_cases(const JointCostsDescription& description) {
  std::vector<std::string> machines;
  for (const JointCostsDescription::Host& host : description.hosts)
    machines.insert(machines.end(), host.machines.begin(), host.machines.end());
  return machines;
}

std::vector<CaseFamily> left_out_families(const JointCostsDescription& description, const std::string& folder,
                                          const CaseSources& cases, const std::vector<Measurement>& measurements) {
  std::vector<CaseFamily> all;
  for (const JointCostsDescription::Host& host : description.hosts) {
    const std::string file = folder + "/" + host.name + ".json";
    if (host.machines.empty() || !std::filesystem::exists(file)) continue;
    CaseSources sources = cases;
    for (std::string& setting : settings_in(file)) sources.settings.push_back(std::move(setting));
    std::vector<CaseFamily> families = read_families(sources, measurements);
    keep_machines(families, host.machines);
    std::ranges::move(families, std::back_inserter(all));
  }
  return merged(std::move(all));
}

}  // namespace uvmsim
