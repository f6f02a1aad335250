#include "base/quantity.h"

#include <charconv>
#include <cmath>
#include <span>

namespace uvmsim {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t scale;
  bool written = true;  // whether to_text uses it
};

// Largest first; of two texts of one length, to_text takes the earlier unit.
constexpr Unit kByteUnits[] = {{"TiB", 1LL << 40},
                               {"TB", 1'000'000'000'000},
                               {"GiB", 1LL << 30},
                               {"GB", 1'000'000'000},
                               {"MiB", 1LL << 20},
                               {"MB", 1'000'000},
                               {"KiB", 1LL << 10},
                               {"KB", 1'000},
                               {"B", 1}};
constexpr Unit kTimeUnits[] = {{"min", 60'000'000'000'000, false},
                               {"s", 1'000'000'000'000},
                               {"ms", 1'000'000'000},
                               {"us", 1'000'000},
                               {"ns", 1'000},
                               {"ps", 1}};

template <class Float>
std::optional<Float> parse_decimal(std::string_view text) {
  // from_chars also takes "inf" and "nan", which no config means.
  if (text.find_first_not_of("0123456789.+-eE") != std::string_view::npos) return std::nullopt;
  Float value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::int64_t> parse(std::string_view text, std::span<const Unit> units, std::string_view suffix) {
  if (!text.ends_with(suffix)) return std::nullopt;
  text.remove_suffix(suffix.size());
  const std::size_t unit_start = text.find_last_of("0123456789. ");
  if (unit_start == std::string_view::npos) return std::nullopt;
  std::string_view number = text.substr(0, unit_start + 1);
  while (number.ends_with(' ')) number.remove_suffix(1);
  // Of 64 bits, so that what to_text writes parses back exactly.
  const auto value = parse_decimal<long double>(number);
  if (!value) return std::nullopt;
  for (const Unit& unit : units) {
    if (text.substr(unit_start + 1) != unit.name) continue;
    // 2^63 is exactly representable; what reaches it does not fit.
    const long double scaled = std::round(*value * static_cast<long double>(unit.scale));
    if (!(std::abs(scaled) < 0x1p63L)) return std::nullopt;
    return static_cast<std::int64_t>(scaled);
  }
  return std::nullopt;
}

// `value` in `unit` with at most three decimals, or "" when that is not exact or below one.
std::string exact_text(std::int64_t value, const Unit& unit) {
  if (unit.scale > 1 && (value < unit.scale || value % unit.scale * 1000 % unit.scale != 0)) return "";
  std::string text = std::to_string(value / unit.scale);
  std::int64_t thousandths = value % unit.scale * 1000 / unit.scale;
  if (thousandths != 0) {
    std::string decimals = std::to_string(1000 + thousandths).substr(1);
    while (decimals.back() == '0') decimals.pop_back();
    text += "." + decimals;
  }
  return text + " " + std::string(unit.name);
}

std::string shortest(std::int64_t value, std::span<const Unit> units) {
  if (value < 0) return "-" + shortest(-value, units);
  if (value == 0) return "0 " + std::string(units[units.size() - 1].name == "ps" ? "s" : units.back().name);
  std::string best;
  for (const Unit& unit : units) {
    if (!unit.written) continue;
    std::string text = exact_text(value, unit);
    if (!text.empty() && (best.empty() || text.size() < best.size())) best = std::move(text);
  }
  return best;
}

}  // namespace

std::optional<double> parse_number(std::string_view text) { return parse_decimal<double>(text); }

std::optional<Bytes> parse_bytes(std::string_view text) {
  const auto value = parse(text, kByteUnits, "");
  return value ? std::optional(Bytes{*value}) : std::nullopt;
}
std::optional<BytesPerSecond> parse_bandwidth(std::string_view text) {
  const auto value = parse(text, kByteUnits, "/s");
  return value ? std::optional(BytesPerSecond{*value}) : std::nullopt;
}
std::optional<Duration> parse_duration(std::string_view text) {
  const auto value = parse(text, kTimeUnits, "");
  return value ? std::optional(Duration{*value}) : std::nullopt;
}

std::string to_text(Bytes bytes) { return shortest(bytes.value, kByteUnits); }
std::string to_text(BytesPerSecond bandwidth) { return shortest(bandwidth.value, kByteUnits) + "/s"; }
std::string to_text(Duration duration) { return shortest(duration.count(), kTimeUnits); }

}  // namespace uvmsim
