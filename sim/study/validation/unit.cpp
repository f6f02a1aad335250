#include "study/validation/unit.h"

#include <algorithm>
#include <array>

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

}  // namespace

std::optional<double> unit_factor(std::string_view unit) {
  const std::size_t slash = unit.find('/');
  const std::optional<double> above = plain_factor(unit.substr(0, slash));
  if (slash == std::string_view::npos || !above) return above;
  const std::optional<double> below = plain_factor(unit.substr(slash + 1));
  return below ? std::optional(*above / *below) : std::nullopt;
}

const std::vector<std::string>& unit_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Unit& unit : kUnits) list.emplace_back(unit.name);
    return list;
  }();
  return names;
}

}  // namespace uvmsim
