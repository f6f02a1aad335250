#include "study/sweep/sweep_diff.h"

#include <map>
#include <nlohmann/json.hpp>

#include "report/diff.h"
#include "report/table.h"

namespace uvmsim {
namespace {

using Json = nlohmann::ordered_json;

// By settings, in the order of the grids.
std::vector<std::pair<std::string, std::string>> results_of(const SweepStore& store) {
  std::vector<std::pair<std::string, std::string>> results;
  for (const StoredSweep& sweep : store.sweeps())
    store.for_each_point(sweep.id, [&](const StoredPoint& point) {
      std::string result = point.outcome;
      if (point.outcome == "completed") result = Json::parse(point.report)["summary"]["duration_s"].dump();
      results.emplace_back(point.settings, std::move(result));
    });
  return results;
}

std::optional<double> relative(const PointChange& change) {
  return Change{.name = "", .before = change.before, .after = change.after}.relative();
}

}  // namespace

SweepDiff diff_sweeps(const SweepStore& before, const SweepStore& after) {
  std::map<std::string, std::string> others;
  for (auto& [settings, result] : results_of(after)) others[settings] = result;
  SweepDiff diff;
  for (const auto& [settings, result] : results_of(before)) {
    const auto other = others.find(settings);
    if (other == others.end()) {
      ++diff.only_before;
      continue;
    }
    if (other->second == result)
      ++diff.same;
    else
      diff.changed.push_back({settings, result, other->second});
    others.erase(other);
  }
  diff.only_after = others.size();
  return diff;
}

std::string diff_text(const SweepDiff& diff) {
  std::string text;
  if (!diff.changed.empty()) {
    std::vector<std::vector<std::string>> rows = {{"iteration of", "before", "after", "change"}};
    for (const PointChange& change : diff.changed)
      rows.push_back({change.settings, value_text("duration_s", change.before), value_text("duration_s", change.after),
                      relative_text(relative(change))});
    text = aligned(rows);
  }
  return text + std::to_string(diff.changed.size()) + " points differ, " + std::to_string(diff.same) +
         " are the same, " + std::to_string(diff.only_before) + " are only in the first, " +
         std::to_string(diff.only_after) + " only in the second\n";
}

std::string diff_json(const SweepDiff& diff) {
  const auto value = [](const std::string& text) {
    Json json = Json::parse(text, nullptr, false);
    return json.is_discarded() ? Json(text) : json;
  };
  Json changed = Json::array();
  for (const PointChange& change : diff.changed) {
    const std::optional<double> share = relative(change);
    changed.push_back({{"settings", Json::parse(change.settings)},
                       {"before", value(change.before)},
                       {"after", value(change.after)},
                       {"relative", share ? Json(*share) : Json()}});
  }
  return Json{{"changed", std::move(changed)},
              {"same", diff.same},
              {"only_before", diff.only_before},
              {"only_after", diff.only_after}}
             .dump(2) +
         "\n";
}

}  // namespace uvmsim
