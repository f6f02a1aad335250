#include "study/validation/score.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "metrics/result_fields.h"
#include "study/plan_need.h"
#include "study/simulate.h"
#include "study/validation/median.h"
#include "study/validation/result_name.h"

namespace uvmsim {
namespace {

const RunResult& result_of(const ValidationCase& one, const std::string& run, const RunResults& results) {
  return results.at(one.find_run(run)->identity);
}

void predict_outcome(Score& score, const RunResults& results) {
  const RunResult& result = result_of(*score.in, split_name(*score.in, score.of->metric).run, results);
  if (const auto* failure = std::get_if<std::string>(&result))
    score.failure = *failure;
  else
    score.outcome = name_of(std::get<Result>(result).outcome);
}

void predict_number(Score& score, const RunResults& results) {
  const auto value_of = [&](const std::string& name) -> std::optional<double> {
    const RunAndName which = split_name(*score.in, name);
    if (is_of_trace(which.name)) {
      const trace::Trace trace = make_trace(score.in->find_run(which.run)->experiment);
      return which.name == "flops" ? flops_of_an_iteration(trace) : allocated_in_an_iteration(trace);
    }
    const RunResult& result = result_of(*score.in, which.run, results);
    const std::string run = which.run.empty() ? "" : which.run + ": ";
    if (const auto* failure = std::get_if<std::string>(&result)) {
      score.failure = run + *failure;
      return std::nullopt;
    }
    const Result& ended = std::get<Result>(result);
    if (ended.outcome != Outcome::Completed) {
      score.failure = run + std::string(name_of(ended.outcome)) + (ended.detail.empty() ? "" : ": " + ended.detail);
      return std::nullopt;
    }
    const NamedNumber number = number_named(which.name, ended);
    if (const auto* fault = std::get_if<std::string>(&number)) {
      score.failure = run + *fault;
      return std::nullopt;
    }
    return std::get<double>(number);
  };
  const std::optional<double> value = score.of->expression.evaluate(value_of);
  if (value)
    score.predicted = *value / score.of->unit_factor;
  else if (score.failure.empty())
    score.failure = "no finite number";
}

double error_of(double predicted, double measured) {
  if (measured == 0) return predicted == 0 ? 0 : 1;
  return predicted / measured - 1;
}

void judge(Score& score) {
  const MeasuredValue& of = *score.of;
  if (of.criterion == Criterion::Value) score.error = score.predicted ? error_of(*score.predicted, of.value) : 1;
  if (!score.failure.empty()) return;
  // Decimal texts such as 0.1 are not exact in binary: the border itself is inside.
  const double allowed = of.tolerance.relative * std::abs(of.value) + 1e-12 * std::abs(of.value);
  switch (of.criterion) {
    case Criterion::Value:
      score.inside = std::abs(*score.predicted - of.value) <= allowed;
      break;
    case Criterion::AtMost:
      score.inside = *score.predicted <= of.value + allowed;
      break;
    case Criterion::AtLeast:
      score.inside = *score.predicted >= of.value - allowed;
      break;
    case Criterion::Range:
      score.inside = *score.predicted >= of.least && *score.predicted <= of.most;
      break;
    case Criterion::Outcome:
      score.inside = score.outcome == of.outcome;
      break;
    case Criterion::Sign:
      score.inside = (*score.predicted * of.unit_factor - 1) * (of.value * of.unit_factor - 1) > 0;
      break;
  }
}

FamilyScore score_family(const CaseFamily& family, const std::vector<Score>& scores) {
  FamilyScore sum{.family = &family};
  std::set<const ValidationCase*> cases;
  std::vector<double> errors, sizes;
  for (const Score& score : scores) {
    if (score.family != &family) continue;
    cases.insert(score.in);
    ++sum.values;
    sum.inside += score.inside ? 1 : 0;
    sum.failed += score.failure.empty() ? 0 : 1;
    if (score.of->criterion == Criterion::Sign) {
      ++sum.signs;
      sum.wrong_signs += score.inside ? 0 : 1;
    }
    if (!score.error) continue;
    errors.push_back(*score.error);
    sizes.push_back(std::abs(*score.error));
  }
  sum.cases = static_cast<int>(cases.size());
  if (errors.empty()) return sum;
  sum.worst_error = std::ranges::max(sizes);
  sum.median_error = median(std::move(sizes));
  sum.bias = median(std::move(errors));
  return sum;
}

}  // namespace

std::vector<Score> score_values(const std::vector<CaseFamily>& families, const RunResults& results) {
  std::vector<Score> scores;
  for (const CaseFamily& family : families)
    for (const ValidationCase& one : family.cases)
      for (const MeasuredValue& measured : one.measured) {
        Score score{.family = &family, .in = &one, .of = &measured};
        if (measured.criterion == Criterion::Outcome)
          predict_outcome(score, results);
        else
          predict_number(score, results);
        judge(score);
        scores.push_back(std::move(score));
      }
  return scores;
}

std::vector<FamilyScore> score_families(const std::vector<Score>& scores) {
  std::vector<FamilyScore> families;
  for (const Score& score : scores)
    if (families.empty() || families.back().family != score.family)
      families.push_back(score_family(*score.family, scores));
  return families;
}

std::vector<std::string> unknown_gaps(const std::vector<Score>& scores, const std::set<int>& incomplete) {
  std::vector<std::string> gaps;
  std::map<int, bool> open;
  for (const Score& score : scores) {
    const int deviation = score.of->deviation;
    if (deviation != 0) open[deviation] = open[deviation] || !score.inside;
    if (!score.inside && deviation == 0)
      gaps.push_back(score.name() + " is outside its tolerance: no deviation says why");
  }
  for (const auto& [deviation, is_open] : open)
    if (!is_open && !incomplete.contains(deviation))
      gaps.push_back("deviation " + std::to_string(deviation) + " is closed: all values that name it are inside");
  return gaps;
}

ScoreSummary summarize(const std::vector<FamilyScore>& families, Role role) {
  ScoreSummary sum;
  std::vector<double> medians;
  for (const FamilyScore& family : families) {
    if (family.family->role != role) continue;
    sum.values += family.values;
    sum.inside += family.inside;
    sum.failed += family.failed;
    sum.signs += family.signs;
    sum.wrong_signs += family.wrong_signs;
    if (!family.median_error) continue;
    ++sum.families;
    medians.push_back(*family.median_error);
    sum.within_10_percent += *family.median_error <= 0.10 ? 1 : 0;
    sum.within_25_percent += *family.median_error <= 0.25 ? 1 : 0;
  }
  if (!medians.empty()) sum.median_error = median(std::move(medians));
  return sum;
}

std::optional<double> predict(const Score& score, const RunResults& results) {
  Score other{.family = score.family, .in = score.in, .of = score.of};
  predict_number(other, results);
  return other.predicted;
}

}  // namespace uvmsim
