#include "base/number_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <span>

namespace uvmsim {
namespace {

struct Scale {
  double factor;
  const char* unit;
};

constexpr std::array<Scale, 5> kSeconds = {{{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}, {1e-12, "ps"}}};
constexpr std::array<Scale, 5> kBytes = {{{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "KB"}, {1, "B"}}};

std::string fixed(double value, int decimals) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

// The largest unit of which there is at least one after rounding.
std::string scaled(double value, std::span<const Scale> scales) {
  for (const Scale& scale : scales)
    if (std::abs(value) >= 0.99995 * scale.factor) return number_text(value / scale.factor) + " " + scale.unit;
  return "0 " + std::string(value == 0 && scales[0].factor == 1 ? scales.front().unit : scales.back().unit);
}

}  // namespace

std::string seconds_text(double seconds) { return scaled(seconds, kSeconds); }

std::string bytes_text(double bytes) { return scaled(bytes, kBytes); }

std::string number_text(double value) {
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size < 1e-4 || size >= 1e9) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.4g", value);
    return text.data();
  }
  const int decimals = std::max(0, 3 - static_cast<int>(std::floor(std::log10(size * (1 + 5e-5)))));
  std::string text = fixed(value, decimals);
  if (text.find('.') == std::string::npos) return text;
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string count_text(std::int64_t count) {
  std::string text = std::to_string(count);
  const std::size_t first = count < 0 ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3;) text.insert(at -= 3, ",");
  return text;
}

std::string percent_text(double fraction) { return fixed(100 * fraction, 1) + " %"; }

}  // namespace uvmsim
