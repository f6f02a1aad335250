#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/join.h"
#include "base/number_text.h"
#include "report/table.h"
#include "study/calibration/calibrate.h"
#include "study/calibration/fit_text.h"

namespace uvmsim {
namespace {

using OrderedJson = nlohmann::ordered_json;

// A parameter's last word, for the table: how it can be trusted.
std::string remark(const ParameterTrust& trust) {
  if (trust.most_sensitive.empty()) return "no value depends on it";
  if (!trust.identifiable)
    return "not identifiable" + (trust.partners.empty() ? "" : ": trades against " + joined(trust.partners));
  return factor_text(trust.uncertainty);
}

std::string source_of(const Calibration& c) {
  return "uvmsim calibrate: " + joined(c.families) + " (" + std::to_string(c.targets.size()) +
         " values, root mean square error " + percent_text(std::expm1(c.fit.error_before)) + " before, " +
         percent_text(std::expm1(c.fit.error_after)) + " after)";
}

}  // namespace

std::string machine_text(const Calibration& c, const std::string& machine, const std::string& folder) {
  namespace fs = std::filesystem;
  OrderedJson file;
  file["extends"] = fs::absolute(machine).lexically_relative(fs::absolute(folder)).generic_string();
  for (std::size_t i = 0; i < c.parameters.size(); ++i) {
    if (c.fit.trust[i].most_sensitive.empty()) continue;  // nothing was learnt
    std::string pointer = "/" + c.parameters[i].name;
    for (char& letter : pointer)
      if (letter == '.') letter = '/';
    const std::string remark = c.fit.trust[i].identifiable ? "" : "; not identifiable alone";
    file[OrderedJson::json_pointer(pointer)] = {
        {"value", step_time_text(c.fit.values[i])}, {"status", "fitted"}, {"source", source_of(c) + remark}};
  }
  return file.dump(2) + "\n";
}

std::string calibration_text(const Calibration& c) {
  std::string text = c.machine + ": " + std::to_string(c.targets.size()) + " values of " + joined(c.families) + ", " +
                     std::to_string(c.fit.evaluations) + " evaluations\nroot mean square error " +
                     percent_text(std::expm1(c.fit.error_before)) + " before, " +
                     percent_text(std::expm1(c.fit.error_after)) + " after\n\n";
  std::vector<std::vector<std::string>> rows = {{"parameter", "before", "fitted", "sensitivity", "known to"}};
  for (std::size_t i = 0; i < c.parameters.size(); ++i)
    rows.push_back({c.parameters[i].name, step_time_text(c.parameters[i].start), step_time_text(c.fit.values[i]),
                    number_text(c.fit.trust[i].sensitivity), remark(c.fit.trust[i])});
  text += aligned(rows) + "\n";
  rows = {target_head()};
  for (std::size_t i = 0; i < c.targets.size(); ++i)
    rows.push_back(target_row(c.targets[i].name, c.targets[i].measured, c.before[i], c.fit.predictions[i]));
  return text + aligned(rows);
}

std::string calibration_json(const Calibration& c) {
  OrderedJson root;
  root["machine"] = c.machine;
  root["families"] = c.families;
  root["evaluations"] = c.fit.evaluations;
  root["error_before"] = c.fit.error_before;
  root["error_after"] = c.fit.error_after;
  for (std::size_t i = 0; i < c.parameters.size(); ++i) {
    const ParameterTrust& trust = c.fit.trust[i];
    OrderedJson parameter = {{"name", c.parameters[i].name},
                             {"before_s", c.parameters[i].start},
                             {"fitted_s", c.fit.values[i]},
                             {"sensitivity", trust.sensitivity},
                             {"most_sensitive", trust.most_sensitive},
                             {"identifiable", trust.identifiable},
                             {"trades_against", trust.partners}};
    parameter["uncertainty"] = std::isfinite(trust.uncertainty) ? OrderedJson(trust.uncertainty) : OrderedJson(nullptr);
    root["parameters"].push_back(std::move(parameter));
  }
  for (std::size_t i = 0; i < c.targets.size(); ++i)
    root["values"].push_back({{"name", c.targets[i].name},
                              {"measured", c.targets[i].measured},
                              {"before", c.before[i]},
                              {"after", c.fit.predictions[i]}});
  return root.dump(2) + "\n";
}

}  // namespace uvmsim
