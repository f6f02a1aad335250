#include "study/validation/unit.h"

#include <algorithm>
#include <array>

#include "base/lower_case.h"
#include "base/user_error.h"

namespace uvmsim {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr double kKi = 1024, kMi = kKi * kKi, kGi = kKi * kMi, kTi = kKi * kGi;
constexpr std::array kUnits = {
    Unit{"s", 1},       Unit{"ms", 1e-3},   Unit{"us", 1e-6},    Unit{"ns", 1e-9},      Unit{"min", 60},
    Unit{"B", 1},       Unit{"KB", 1e3},    Unit{"MB", 1e6},     Unit{"GB", 1e9},       Unit{"TB", 1e12},
    Unit{"KiB", kKi},   Unit{"MiB", kMi},   Unit{"GiB", kGi},    Unit{"TiB", kTi},      Unit{"FLOP", 1},
    Unit{"MFLOP", 1e6}, Unit{"GFLOP", 1e9}, Unit{"TFLOP", 1e12}, Unit{"%", 0.01},       Unit{"x", 1},
    Unit{"1", 1},       Unit{"count", 1},   Unit{"faults", 1},   Unit{"groups", 1},     Unit{"entries", 1},
    Unit{"copies", 1},  Unit{"batches", 1}, Unit{"chunks", 1},   Unit{"iterations", 1}, Unit{"samples", 1},
    Unit{"images", 1},  Unit{"tokens", 1},  Unit{"sequences", 1}};

std::optional<double> plain_factor(std::string_view name) {
  const auto unit = std::ranges::find(kUnits, name, &Unit::name);
  return unit == kUnits.end() ? std::nullopt : std::optional(unit->factor);
}

// What people write for units, in lower case and in the singular.
struct OtherName {
  std::string_view name, unit;
};
constexpr std::array kOtherNames = {OtherName{"byte", "B"},
                                    OtherName{"kilobyte", "KB"},
                                    OtherName{"megabyte", "MB"},
                                    OtherName{"gigabyte", "GB"},
                                    OtherName{"second", "s"},
                                    OtherName{"sec", "s"},
                                    OtherName{"millisecond", "ms"},
                                    OtherName{"msec", "ms"},
                                    OtherName{"microsecond", "us"},
                                    OtherName{"usec", "us"},
                                    OtherName{"\u00b5s", "us"},
                                    OtherName{"\u03bcs", "us"},
                                    OtherName{"nanosecond", "ns"},
                                    OtherName{"nsec", "ns"},
                                    OtherName{"minute", "min"},
                                    OtherName{"percent", "%"},
                                    OtherName{"pct", "%"},
                                    OtherName{"time", "x"},
                                    OtherName{"ratio", "x"},
                                    OtherName{"factor", "x"},
                                    OtherName{"number", "count"},
                                    OtherName{"page", "count"},
                                    OtherName{"fault", "faults"},
                                    OtherName{"group", "groups"},
                                    OtherName{"entry", "entries"},
                                    OtherName{"copy", "copies"},
                                    OtherName{"batch", "batches"},
                                    OtherName{"chunk", "chunks"},
                                    OtherName{"sample", "samples"},
                                    OtherName{"image", "images"},
                                    OtherName{"token", "tokens"},
                                    OtherName{"flops", "FLOP/s"},
                                    OtherName{"gflops", "GFLOP/s"},
                                    OtherName{"tflops", "TFLOP/s"},
                                    OtherName{"iteration", "iterations"},
                                    OtherName{"sequence", "sequences"}};

std::string plain_unit_meant_by(std::string_view name) {
  if (plain_factor(name)) return std::string(name);
  const std::string lower = lower_case(name);
  const auto other_name = [&](std::string_view text) {
    const auto found = std::ranges::find(kOtherNames, text, &OtherName::name);
    return found == kOtherNames.end() ? std::string() : std::string(found->unit);
  };
  std::string meant = other_name(lower);
  if (meant.empty() && lower.ends_with('s')) meant = other_name(std::string_view(lower).substr(0, lower.size() - 1));
  if (!meant.empty()) return meant;
  std::vector<std::string> names;
  for (const Unit& unit : kUnits) {
    if (lower_case(unit.name) == lower) return std::string(unit.name);
    names.emplace_back(unit.name);
  }
  return nearest(name, names);
}

}  // namespace

std::optional<double> unit_factor(std::string_view unit) {
  const std::size_t slash = unit.find('/');
  const std::optional<double> above = plain_factor(unit.substr(0, slash));
  if (slash == std::string_view::npos || !above) return above;
  const std::optional<double> below = plain_factor(unit.substr(slash + 1));
  return below ? std::optional(*above / *below) : std::nullopt;
}

std::string unit_meant_by(std::string_view unit) {
  const std::size_t slash = unit.find('/');
  std::string meant = plain_unit_meant_by(unit.substr(0, slash));
  if (slash == std::string_view::npos || meant.empty()) return meant;
  const std::string below = plain_unit_meant_by(unit.substr(slash + 1));
  return below.empty() ? "" : meant + "/" + below;
}

}  // namespace uvmsim
