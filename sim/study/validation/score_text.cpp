#include "study/validation/score_text.h"

#include <cmath>

#include "base/number_text.h"
#include "report/json_fields.h"
#include "report/table.h"

namespace uvmsim {
namespace {

using Rows = std::vector<std::vector<std::string>>;

const std::vector<std::pair<Role, std::string>> kHeadings = {
    {Role::Calibration, "Calibration: may be fitted to, judges nothing"},
    {Role::Validation, "Validation: nothing was fitted to these"},
    {Role::Claim, "Claims: what papers say of their systems, judged apart"}};

std::string share_text(const std::optional<double>& share) { return share ? percent_text(*share) : "-"; }

std::string with_unit(double value, const std::string& unit) {
  return number_text(value) + (unit == "count" || unit == "1" ? "" : " " + unit);
}

std::string of_all(int some, int all) { return std::to_string(some) + "/" + std::to_string(all); }

std::string families_text(const std::vector<FamilyScore>& families, Role role) {
  Rows rows = {{"", "cases", "values", "median", "worst", "bias", "inside", "failed"}};
  for (const FamilyScore& f : families)
    if (f.family->role == role)
      rows.push_back({f.family->name, std::to_string(f.cases), std::to_string(f.values), share_text(f.median_error),
                      share_text(f.worst_error), error_text(f.bias), of_all(f.inside, f.values),
                      f.failed == 0 ? "" : std::to_string(f.failed)});
  return rows.size() == 1 ? "" : aligned(rows);
}

std::string values_text(const std::vector<Score>& scores) {
  Rows rows = {{"", "predicted", "measured", "error", "tolerance", ""}};
  for (const Score& s : scores)
    rows.push_back({s.name(), predicted_text(s), measured_text(*s.of), error_text(s.error), tolerance_text(*s.of),
                    verdict_text(s)});
  return aligned(rows);
}

std::string summary_text(const ScoreSummary& sum) {
  if (sum.values == 0) return "";
  std::string text = of_all(sum.inside, sum.values) + " values inside their tolerance\n";
  if (sum.families > 0)
    text += "median error of " + std::to_string(sum.families) +
            " families, each weighing the same: " + share_text(sum.median_error) +
            "; at most 10 %: " + of_all(sum.within_10_percent, sum.families) +
            ", at most 25 %: " + of_all(sum.within_25_percent, sum.families) + "\n";
  if (sum.signs > 0) text += "wrong about which of two is faster: " + of_all(sum.wrong_signs, sum.signs) + "\n";
  return text;
}

OrderedJson json_of_family(const FamilyScore& f) {
  OrderedJson json;
  json["family"] = f.family->name;
  json["title"] = f.family->title;
  json["role"] = name_of(f.family->role);
  json["cases"] = f.cases;
  json["values"] = f.values;
  json["inside"] = f.inside;
  json["failed"] = f.failed;
  json["signs"] = f.signs;
  json["wrong_signs"] = f.wrong_signs;
  json["median_error"] = json_of(f.median_error);
  json["worst_error"] = json_of(f.worst_error);
  json["bias"] = json_of(f.bias);
  return json;
}

OrderedJson json_of_score(const Score& s) {
  const MeasuredValue& m = *s.of;
  const bool outcome = m.criterion == Criterion::Outcome;
  OrderedJson json;
  json["family"] = s.family->name;
  json["case"] = s.in->name;
  json["value"] = m.name;
  json["role"] = name_of(s.family->role);
  json["metric"] = m.metric;
  json["unit"] = m.unit;
  json["predicted"] = outcome && s.failure.empty() ? OrderedJson(s.outcome) : json_of(s.predicted);
  json["measured"] = outcome ? OrderedJson(m.outcome) : OrderedJson(m.value);
  json["uncertainty"] = json_of(m.uncertainty);
  json["trust"] = m.trust;
  json["source"] = m.source;
  json["error"] = json_of(s.error);
  json["tolerance"] = m.tolerance.relative;
  json["inside"] = s.inside;
  json["failure"] = s.failure;
  return json;
}

}  // namespace

std::string measured_text(const MeasuredValue& measured) {
  switch (measured.criterion) {
    case Criterion::Outcome:
      return measured.outcome;
    case Criterion::AtMost:
      return "<= " + with_unit(measured.value, measured.unit);
    case Criterion::AtLeast:
      return ">= " + with_unit(measured.value, measured.unit);
    default:
      return with_unit(measured.value, measured.unit);
  }
}

std::string predicted_text(const Score& score) {
  if (score.of->criterion == Criterion::Outcome) return score.outcome.empty() ? "none" : score.outcome;
  return score.predicted ? with_unit(*score.predicted, score.of->unit) : "none";
}

std::string error_text(const std::optional<double>& error) {
  if (!error) return "";
  const std::string size = percent_text(std::abs(*error));
  return (size == percent_text(0) ? "" : *error > 0 ? "+" : "-") + size;
}

std::string tolerance_text(const MeasuredValue& measured) {
  switch (measured.criterion) {
    case Criterion::Outcome:
      return "the same";
    case Criterion::Sign:
      return "side of 1";
    case Criterion::Range:
      return number_text(measured.least) + " to " + with_unit(measured.most, measured.unit);
    default:
      return measured.tolerance.relative == 0 ? "exact" : percent_text(measured.tolerance.relative);
  }
}

std::string verdict_text(const Score& score) {
  if (!score.failure.empty()) return "FAILED: " + score.failure.substr(0, score.failure.find('\n'));
  return score.inside ? "" : "OUTSIDE";
}

std::string score_text(const std::vector<Score>& scores, bool values) {
  const std::vector<FamilyScore> families = score_families(scores);
  std::string text;
  if (values) text += "Values\n" + values_text(scores) + "\n";
  for (const auto& [role, heading] : kHeadings) {
    const std::string table = families_text(families, role);
    if (table.empty()) continue;
    text += heading + "\n";
    text += table + summary_text(summarize(families, role)) + "\n";
  }
  if (!text.empty()) text.pop_back();
  return text;
}

std::string score_json(const std::vector<Score>& scores) {
  const std::vector<FamilyScore> families = score_families(scores);
  const ScoreSummary sum = summarize(families, Role::Validation);
  OrderedJson json;
  OrderedJson& summary = json["summary"];
  summary["families"] = sum.families;
  summary["values"] = sum.values;
  summary["inside"] = sum.inside;
  summary["failed"] = sum.failed;
  summary["signs"] = sum.signs;
  summary["wrong_signs"] = sum.wrong_signs;
  summary["median_error"] = json_of(sum.median_error);
  summary["within_10_percent"] = sum.within_10_percent;
  summary["within_25_percent"] = sum.within_25_percent;
  json["families"] = OrderedJson::array();
  for (const FamilyScore& family : families) json["families"].push_back(json_of_family(family));
  json["values"] = OrderedJson::array();
  for (const Score& score : scores) json["values"].push_back(json_of_score(score));
  return json.dump(2) + "\n";
}

}  // namespace uvmsim
