// The axes of a sweep as users write them (sim/study/SWEEP.md): "workload.batch=48,98 & workload.dtype=fp32,fp16".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_document.h"

namespace uvmsim {

// One direction of the grid: keys that take their values together.
struct SweepAxis {
  std::vector<std::string> keys;
  // Of each step, the value of each key, as behind `--set KEY=`. Not empty.
  std::vector<std::vector<std::string>> steps;

  friend bool operator==(const SweepAxis&, const SweepAxis&) = default;
};

// The most steps of one axis, and the most points of a sweep.
inline constexpr std::size_t kMostSweepPoints = 1'000'000;

// The axis that `text` describes. Appends errors, which name `place`, and returns nullopt when it describes none.
std::optional<SweepAxis> parse_axis(std::string_view text, const std::string& place, std::vector<InputError>& errors);

// The axes in the member "sweep" of a config: none, or a list of texts as above. Appends errors.
std::vector<SweepAxis> read_sweep_section(const JsonValue& document, std::vector<InputError>& errors);

}  // namespace uvmsim
