// Scores for people and programs.
#pragma once

#include <string>
#include <vector>

#include "study/validation/score.h"

namespace uvmsim {

// The summary and one line per family; with `values`, one line per value too. Ends in a newline.
std::string score_text(const std::vector<Score>& scores, bool values);
// The same as one JSON object with every value; keys as in the structs of score.h, errors as shares.
std::string score_json(const std::vector<Score>& scores);

// "9.8 us", "out_of_memory", "none": what was measured or predicted, in the value's unit.
std::string measured_text(const MeasuredValue& measured);
std::string predicted_text(const Score& score);
// "+4.2 %"; "" where there is no error.
std::string error_text(const std::optional<double>& error);
// "10 %", "exact", "same side of 1", ...: what the prediction has to keep.
std::string tolerance_text(const MeasuredValue& measured);
// "", "OUTSIDE", or why nothing was predicted.
std::string verdict_text(const Score& score);

}  // namespace uvmsim
