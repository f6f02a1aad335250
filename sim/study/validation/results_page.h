// The published errors: validation/RESULTS.md for people, validation/results.json for programs.
#pragma once

#include <string>
#include <vector>

#include "study/validation/coverage.h"
#include "study/validation/error_model.h"
#include "study/validation/run_cases.h"
#include "study/validation/score.h"
#include "study/validation/uses.h"

namespace uvmsim {

// What was predicted for the cases: with the machines' own costs and, for machines whose host has calibration cases,
// with the costs that a fit without that host's cases gives them.
struct ScoredCases {
  const std::vector<Score>& scores;
  const RunResults& results;
  const std::vector<Score>& left_out_scores;
  const RunResults& left_out_results;
};

// What tells a machine whose host has calibration cases from one that only has its name: another GPU or other costs of
// driver steps, and what was measured says nothing of it.
struct OwnCosts {
  std::string machine, gpu;
  std::string driver_costs;  // a number for all of them
  friend bool operator==(const OwnCosts&, const OwnCosts&) = default;
};
OwnCosts own_costs_of(const Machine& machine);

// What a run needs to say how far off it may be.
struct PublishedErrors {
  std::vector<FamilyErrors> families;  // that judge and have an error
  ErrorModel model;
  std::vector<OwnCosts> own_costs;  // of bundled machines whose host has calibration cases
};

// Of the validation values that are times and rates, but for `own_costs`. `calibrated`: the names of machines whose
// host has calibration cases.
PublishedErrors publish(const ScoredCases& cases, const std::vector<std::string>& calibrated);

// Where the true duration is to be expected of a run whose slowest of `gpus` predicts `duration_s`.
Band band_of(const PublishedErrors& errors, const Machine& machine, const std::vector<GpuResult>& gpus,
             double duration_s);

// Markdown: the summary, a line per family, a table of values per family, what every measured value is used for.
std::string results_page(const ScoredCases& cases, const PublishedErrors& errors,
                         const std::vector<MeasurementUse>& uses);

std::string errors_json(const PublishedErrors& errors);
// The inverse. Throws UserError when `text`, the content of `path`, is not what errors_json writes.
PublishedErrors read_errors(const std::string& text, const std::string& path);

}  // namespace uvmsim
