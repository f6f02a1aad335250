#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/quantity.h"
#include "report/number_text.h"
#include "report/table.h"
#include "study/calibration/joint_costs.h"

namespace uvmsim {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string time_text(double time_s) { return to_text(from_seconds(time_s)); }

// "x/ 1.4": the factor by which it may be larger or smaller, one standard deviation.
std::string factor_text(double deviation) { return "x/ " + number_text(std::exp(deviation)); }

std::string error_text(double predicted, double measured) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.1f %%", (predicted / measured - 1) * 100);
  return text;
}

bool has_cases(const JointCosts& costs, std::size_t host) { return !costs.families[host].empty(); }

// Where a step's time on a host comes from.
std::string source_of(const JointCosts& costs, std::size_t host, std::size_t step, bool left_out) {
  const JointCostsDescription::Step& of = costs.description.steps[step];
  if (!of.fitted) return of.source + "; x slowness " + number_text(costs.fit.slowness[host]);
  if (left_out) return "uvmsim calibrate --joint, without the cases of this host";
  const std::string known = " (" + factor_text(costs.fit.uncertainty[host][step]) + ")";
  if (has_cases(costs, host)) return "uvmsim calibrate --joint, with " + list(costs.families[host]) + known;
  return "uvmsim calibrate --joint: common " + time_text(costs.fit.common[step]) + " x its kind (" +
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
    const OrderedJson leaf = {{"value", time_text(times[k])},
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
    rows.push_back({problem.steps[k].name, time_text(costs.fit.common[k])});
    for (const StepTimes& times : costs.fit.times) rows.back().push_back(time_text(times[k]));
  }
  std::string text = aligned(rows) + "\n";

  rows = {{"host", "value", "measured", "before", "after", "error before", "after"}};
  for (std::size_t h = 0; h < problem.hosts.size(); ++h)
    for (std::size_t i = 0; i < problem.hosts[h].targets.size(); ++i) {
      const JointTarget& target = problem.hosts[h].targets[i];
      const double before = costs.fit.before[h][i], after = costs.fit.after[h][i];
      rows.push_back({problem.hosts[h].name, target.name, number_text(target.measured), number_text(before),
                      number_text(after), error_text(before, target.measured), error_text(after, target.measured)});
    }
  return text + aligned(rows);
}

}  // namespace uvmsim
