// Predicted next to measured: the verdict on each value, and what a family's errors add up to.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "study/validation/case_family.h"
#include "study/validation/run_cases.h"

namespace uvmsim {

// One measured value and what was predicted for it. Numbers are in the value's unit.
struct Score {
  const CaseFamily* family = nullptr;
  const ValidationCase* in = nullptr;
  const MeasuredValue* of = nullptr;
  std::optional<double> predicted = {};
  std::string outcome = {};          // predicted, of an Outcome
  std::string failure = {};          // why nothing was predicted; "" when something was
  std::optional<double> error = {};  // of a Value: predicted / measured - 1; a failure and a wrong zero count as 1
  bool inside = false;               // within the tolerance, on the right side, the same outcome

  std::string name() const { return family->name + "/" + in->name + "/" + of->name; }
};

// What the errors of the Values of a family add up to. Bounds, signs and outcomes have no error: they count in
// `inside` alone.
struct FamilyScore {
  const CaseFamily* family = nullptr;
  int cases = 0, values = 0, inside = 0, failed = 0;
  int signs = 0, wrong_signs = 0;
  std::optional<double> median_error = {}, worst_error = {};  // of |error|
  std::optional<double> bias = {};                            // the median of error
};

// Over families that judge, each weighing the same whatever its size.
struct ScoreSummary {
  int families = 0;  // with an error
  int values = 0, inside = 0, failed = 0;
  int signs = 0, wrong_signs = 0;
  std::optional<double> median_error;  // the median of the families' medians
  int within_10_percent = 0;           // families whose median error is
  int within_25_percent = 0;
};

// The number of a score's value with other results of its case's runs, in the value's unit; nullopt: there is none.
std::optional<double> predict(const Score& score, const RunResults& results);
// Scores of every value, in the order of `families`, whose results are all in `results`.
std::vector<Score> score_values(const std::vector<CaseFamily>& families, const RunResults& results);
std::vector<FamilyScore> score_families(const std::vector<Score>& scores);
// Differences between `scores` and what validation/DEVIATIONS.md knows: values outside their tolerance that name no
// deviation, and deviations that are closed because all values that name them are inside. Of the latter, those in
// `incomplete` are left out: not all their values have a score.
std::vector<std::string> unknown_gaps(const std::vector<Score>& scores, const std::set<int>& incomplete);
// Of the families of `role`.
ScoreSummary summarize(const std::vector<FamilyScore>& families, Role role);

}  // namespace uvmsim
