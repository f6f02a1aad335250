// Two sweep folders side by side.
#pragma once

#include <string>
#include <vector>

#include "study/sweep/store.h"

namespace uvmsim {

// A point that both folders have, by its settings, with another result.
struct PointChange {
  std::string settings;       // JSON
  std::string before, after;  // seconds of an iteration as JSON, or the outcome of a point that has none, or ""
};

struct SweepDiff {
  std::vector<PointChange> changed;
  std::size_t same = 0;
  std::size_t only_before = 0, only_after = 0;  // points that the other folder does not have
};

SweepDiff diff_sweeps(const SweepStore& before, const SweepStore& after);

std::string diff_text(const SweepDiff& diff);
// {"changed": [{"settings", "before", "after", "relative"}], "same", "only_before", "only_after"}.
std::string diff_json(const SweepDiff& diff);

}  // namespace uvmsim
