#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/join.h"
#include "base/number_text.h"
#include "report/table.h"
#include "study/what_if.h"

namespace uvmsim {
namespace {

using Json = nlohmann::ordered_json;

std::string failure(const WhatIf& of) { return of.result ? of.result->detail : of.error; }

std::vector<std::string> names_of(const std::vector<NamedTransform>& parts) {
  std::vector<std::string> names;
  for (const NamedTransform& part : parts) names.push_back(part.name);
  return names;
}

std::vector<std::string> row(const WhatIf& of, const WhatIfs& all) {
  const std::string name = of.name.empty()       ? "as it is"
                           : of.parts.size() > 1 ? joined(names_of(of.parts), " + ")
                                                 : of.name;
  if (!of.completed()) return {name, "failed"};
  const Result& result = *of.result;
  const double speedup = all.speedup(of);
  return {name,
          seconds_text(result.duration_s),
          of.band ? seconds_text(of.band->low_s) + " to " + seconds_text(of.band->high_s) : "-",
          result.samples > 0 ? number_text(result.samples / result.duration_s) : "-",
          speedup > 0 ? number_text(speedup) + "x" : "-",
          speedup > 0 ? percent_text(1 - 1 / speedup) : "-"};
}

// "name  text" lines of those that `has` takes.
template <class Has, class Text>
std::string listed(const WhatIfs& all, Has&& has, Text&& text) {
  std::size_t width = 0;
  for (const WhatIf& one : all.all)
    if (has(one)) width = std::max(width, one.name.size());
  std::string lines;
  for (const WhatIf& one : all.all)
    if (has(one)) lines += "  " + one.name + std::string(width - one.name.size() + 2, ' ') + text(one) + "\n";
  return lines;
}

Json json_of(const WhatIf& of, const WhatIfs& all) {
  Json object = {{"name", of.name}, {"summary", of.summary}, {"costs", of.costs}, {"applies", of.excluded.empty()}};
  if (!of.parts.empty()) object["transforms"] = names_of(of.parts);
  if (!of.excluded.empty()) {
    object["why_not"] = of.excluded;
    return object;
  }
  object["completed"] = of.completed();
  if (!of.completed()) {
    object["error"] = failure(of);
    return object;
  }
  object["duration_s"] = of.result->duration_s;
  if (of.band) {
    object["duration_low_s"] = of.band->low_s;
    object["duration_high_s"] = of.band->high_s;
  }
  if (of.result->samples > 0) {
    object["throughput"] = of.result->samples / of.result->duration_s;
    object["throughput_unit"] = of.result->sample_unit + "/s";
  }
  if (all.base.completed()) object["speedup"] = all.speedup(of);
  return object;
}

}  // namespace

std::string to_text(const WhatIfs& all) {
  const std::string unit = all.base.result ? all.base.result->sample_unit + "/s" : "samples/s";
  std::vector<std::vector<std::string>> rows = {
      {"", "iteration", percent_text(kBandLevel) + " band", unit, "speed-up", "saved"}};
  rows.push_back(row(all.base, all));
  for (const WhatIf& one : all.all)
    if (one.excluded.empty()) rows.push_back(row(one, all));
  if (all.composed && all.composed->excluded.empty()) rows.push_back(row(*all.composed, all));
  std::string text = all.experiment + "\n";
  if (!all.description.empty()) text += "  " + all.description + "\n";
  for (const std::string& setting : all.settings) text += "  with " + setting + "\n";
  text += "\n" + aligned(rows);
  const auto add_failure = [&](const WhatIf& of) {
    if (of.excluded.empty() && !of.completed())
      text += "  " + (of.name.empty() ? std::string("as it is") : of.name) + " failed: " + failure(of) + "\n";
  };
  add_failure(all.base);
  for (const WhatIf& one : all.all) add_failure(one);
  if (all.composed) {
    add_failure(*all.composed);
    if (!all.composed->excluded.empty()) text += "  nothing to put together: " + all.composed->excluded + "\n";
  }
  const auto applies = [](const WhatIf& one) { return one.excluded.empty(); };
  text += "\nWhat it is, and what it costs\n" +
          listed(all, applies, [](const WhatIf& one) { return one.summary + "; " + one.costs; });
  const std::string others = listed(all, std::not_fn(applies), [](const WhatIf& one) { return one.excluded; });
  if (!others.empty()) text += "\nNot applicable\n" + others;
  return text + "\nThe bands are the simulation's own error; they assume that each optimisation reaches its factor.\n";
}

std::string to_json(const WhatIfs& all) {
  Json object = {{"experiment", all.experiment},
                 {"description", all.description},
                 {"settings", all.settings},
                 {"base", json_of(all.base, all)},
                 {"what_ifs", Json::array()}};
  for (const WhatIf& one : all.all) object["what_ifs"].push_back(json_of(one, all));
  if (all.composed) object["composed"] = json_of(*all.composed, all);
  return object.dump(2) + "\n";
}

}  // namespace uvmsim
