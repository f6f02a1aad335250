// The published errors: validation/RESULTS.md for people, validation/results.json for programs.
#pragma once

#include <string>
#include <vector>

#include "study/validation/coverage.h"
#include "study/validation/run_cases.h"
#include "study/validation/score.h"
#include "study/validation/uses.h"

namespace uvmsim {

// Markdown: the summary, a line per family, a table of values per family, what every measured value is used for.
std::string results_page(const std::vector<Score>& scores, const std::vector<MeasurementUse>& uses);

// What trust_in needs: the errors of the families that judge and have any, with what their runs are like.
std::string errors_json(const std::vector<Score>& scores, const RunResults& results);
// The inverse. Throws UserError when `text`, the content of `path`, is not what errors_json writes.
std::vector<FamilyErrors> read_errors(const std::string& text, const std::string& path);

}  // namespace uvmsim
