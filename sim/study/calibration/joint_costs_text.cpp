#include <nlohmann/json.hpp>

#include "base/join.h"
#include "base/number_text.h"
#include "report/table.h"
#include "study/calibration/fit_text.h"
#include "study/calibration/joint_costs.h"

namespace uvmsim {
namespace {

using OrderedJson = nlohmann::ordered_json;

bool has_cases(const JointCosts& costs, std::size_t host) { return !costs.families[host].empty(); }

// Where a step's time on a host comes from.
std::string source_of(const JointCosts& costs, std::size_t host, std::size_t step, bool left_out) {
  const JointCostsDescription::Step& of = costs.description.steps[step];
  if (!of.fitted) return of.source + "; x slowness " + number_text(costs.fit.slowness[host]);
  if (left_out) return "uvmsim calibrate --joint, without the cases of this host";
  const std::string known = " (" + factor_text(costs.fit.uncertainty[host][step]) + ")";
  if (has_cases(costs, host)) return "uvmsim calibrate --joint, with " + joined(costs.families[host]) + known;
  return "uvmsim calibrate --joint: common " + step_time_text(costs.fit.common[step]) + " x its kind (" +
         costs.description.hosts[host].kind + ") x slowness " + number_text(costs.fit.slowness[host]) + known;
}

}  // namespace

std::string costs_file(const JointCosts& costs, std::size_t host, bool left_out) {
  const StepTimes& times = left_out ? costs.fit.left_out[host] : costs.fit.times[host];
  const char* fitted = has_cases(costs, host) && !left_out ? "fitted" : "scaled";
  std::string text = "// Written by `uvmsim calibrate --joint`: " + costs.description.hosts[host].source +
                     (left_out ? ", as it would be priced without its own cases" : "") + ".\n{\n";
  if (!left_out) text += "  \"extends\": \"driver.json\",\n";
  for (std::size_t k = 0; k < times.size(); ++k) {
    const JointCostsDescription::Step& step = costs.description.steps[k];
    const OrderedJson leaf = {{"value", step_time_text(times[k])},
                              {"status", step.fitted ? fitted : "assumed"},
                              {"source", source_of(costs, host, k, left_out)}};
    text += "  " + OrderedJson(step.name).dump() + ": " + leaf.dump() + (k + 1 < times.size() ? ",\n" : "\n");
  }
  return text + "}\n";
}

std::string joint_costs_text(const JointCosts& costs) {
  const JointProblem& problem = costs.problem;
  std::vector<std::vector<std::string>> rows = {{"", "common"}};
  for (const JointHost& host : problem.hosts) rows[0].push_back(host.name);
  rows.push_back({"slowness", ""});
  for (const double slowness : costs.fit.slowness) rows[1].push_back(number_text(slowness));
  for (std::size_t k = 0; k < problem.steps.size(); ++k) {
    rows.push_back({problem.steps[k].name, step_time_text(costs.fit.common[k])});
    for (const StepTimes& times : costs.fit.times) rows.back().push_back(step_time_text(times[k]));
  }
  std::string text = aligned(rows) + "\n";

  rows = {target_head()};
  rows[0].insert(rows[0].begin(), "host");
  for (std::size_t h = 0; h < problem.hosts.size(); ++h)
    for (std::size_t i = 0; i < problem.hosts[h].targets.size(); ++i) {
      const JointTarget& target = problem.hosts[h].targets[i];
      rows.push_back(target_row(target.name, target.measured, costs.fit.before[h][i], costs.fit.after[h][i]));
      rows.back().insert(rows.back().begin(), problem.hosts[h].name);
    }
  return text + aligned(rows);
}

}  // namespace uvmsim
