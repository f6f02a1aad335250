#include "study/sweep/axis.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <span>

namespace uvmsim {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// The parts of `text` between those `separator`s that stand outside quotes and brackets.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  std::size_t start = 0;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      --depth;
    } else if (c == separator && depth == 0) {
      parts.push_back(trimmed(text.substr(start, i - start)));
      start = i + 1;
    }
  }
  parts.push_back(trimmed(text.substr(start)));
  return parts;
}

// A decimal number with what follows it: "0.25", "8 GiB". Its value is digits / 10^decimals.
struct Decimal {
  std::int64_t digits = 0;
  int decimals = 0;
  std::string_view unit;
};

constexpr int kMostDecimals = 9;
constexpr std::int64_t kMostDigits = 1'000'000'000;  // before the point, so that sums of aligned numbers fit 64 bits

std::optional<Decimal> parse_decimal(std::string_view text) {
  text = trimmed(text);
  const std::size_t end = std::min(text.find_first_not_of("+-0123456789."), text.size());
  std::string_view number = text.substr(0, end);
  const bool negative = number.starts_with('-');
  if (negative || number.starts_with('+')) number.remove_prefix(1);
  const std::size_t point = std::min(number.find('.'), number.size());
  const std::string_view whole = number.substr(0, point);
  const std::string_view fraction = point < number.size() ? number.substr(point + 1) : std::string_view();
  const auto digits_only = [](std::string_view part) { return part.find_first_not_of("0123456789") == part.npos; };
  if (whole.empty() || !digits_only(whole) || !digits_only(fraction) || fraction.size() > kMostDecimals ||
      (point < number.size() && fraction.empty()))
    return std::nullopt;
  Decimal decimal{.digits = 0, .decimals = static_cast<int>(fraction.size()), .unit = trimmed(text.substr(end))};
  for (const char c : whole)
    if ((decimal.digits = decimal.digits * 10 + (c - '0')) > kMostDigits) return std::nullopt;
  for (const char c : fraction) decimal.digits = decimal.digits * 10 + (c - '0');
  if (negative) decimal.digits = -decimal.digits;
  return decimal;
}

std::string text_of(std::int64_t digits, int decimals, std::string_view unit) {
  std::string text = std::to_string(digits < 0 ? -digits : digits);
  const auto places = static_cast<std::size_t>(decimals);
  if (places > 0) {
    if (text.size() <= places) text.insert(0, places + 1 - text.size(), '0');
    text.insert(text.size() - places, ".");
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
  }
  return (digits < 0 ? "-" : "") + text + (unit.empty() ? "" : " ") + std::string(unit);
}

// Gives all `numbers` as many decimals as the longest has. False: their units differ.
bool align(std::span<Decimal> numbers) {
  int decimals = 0;
  for (const Decimal& number : numbers) {
    if (number.unit != numbers.front().unit) return false;
    decimals = std::max(decimals, number.decimals);
  }
  for (Decimal& number : numbers)
    for (; number.decimals < decimals; ++number.decimals) number.digits *= 10;
  return true;
}

class AxisParser {
 public:
  AxisParser(const std::string& place, std::vector<InputError>& errors) : place_(place), errors_(errors) {}

  std::optional<SweepAxis> parse(std::string_view text) {
    const std::size_t before = errors_.size();
    SweepAxis axis;
    std::vector<std::vector<std::string>> columns;
    for (const std::string_view part : split(text, '&')) {
      const std::size_t equals = part.find('=');
      const std::string_view key = trimmed(part.substr(0, equals));
      if (equals == std::string_view::npos || key.empty()) {
        error("expected KEY=VALUE,VALUE,..., such as workload.batch=48,98, got \"" + std::string(part) + "\"");
        continue;
      }
      if (std::ranges::find(axis.keys, key) != axis.keys.end()) error("has " + std::string(key) + " twice");
      axis.keys.emplace_back(key);
      columns.push_back(values(trimmed(part.substr(equals + 1))));
    }
    if (errors_.size() != before) return std::nullopt;
    for (std::size_t k = 1; k < columns.size(); ++k)
      if (columns[k].size() != columns[0].size())
        error("keys joined by & need as many values each: " + axis.keys[0] + " has " +
              std::to_string(columns[0].size()) + ", " + axis.keys[k] + " has " + std::to_string(columns[k].size()));
    if (errors_.size() != before) return std::nullopt;
    for (std::size_t i = 0; i < columns[0].size(); ++i) {
      std::vector<std::string>& step = axis.steps.emplace_back();
      for (const std::vector<std::string>& column : columns) step.push_back(column[i]);
    }
    return axis;
  }

 private:
  void error(std::string message) { errors_.push_back({place_, std::move(message)}); }

  std::vector<std::string> values(std::string_view list) {
    std::vector<std::string> result;
    for (const std::string_view item : split(list, ',')) {
      if (item.empty())
        error("a value is missing in \"" + std::string(list) + "\"");
      else if (item.starts_with("range(") && item.ends_with(')'))
        add_range(item, result);
      else if (item.starts_with("log2(") && item.ends_with(')'))
        add_log2(item, result);
      else
        result.emplace_back(item);
    }
    return result;
  }

  // The numbers between the brackets of `item`, aligned; none after an error.
  std::vector<Decimal> arguments(std::string_view item, std::size_t least, std::size_t most, const std::string& form) {
    const std::size_t open = item.find('(');
    std::vector<Decimal> numbers;
    for (const std::string_view part : split(item.substr(open + 1, item.size() - open - 2), ','))
      if (const std::optional<Decimal> number = parse_decimal(part)) numbers.push_back(*number);
    const bool complete = numbers.size() >= least && numbers.size() <= most &&
                          static_cast<std::size_t>(std::ranges::count(item, ',')) + 1 == numbers.size();
    if (!complete)
      error("expected " + form + " with decimal numbers, got " + std::string(item));
    else if (!align(numbers))
      error("expected the same unit behind each number, got " + std::string(item));
    else
      return numbers;
    return {};
  }

  void add_range(std::string_view item, std::vector<std::string>& values) {
    std::vector<Decimal> numbers = arguments(item, 2, 3, "range(FIRST,LAST) or range(FIRST,LAST,STEP)");
    if (numbers.empty()) return;
    if (numbers.size() == 2) {
      numbers.push_back({.digits = 1, .decimals = 0, .unit = numbers[0].unit});
      align(numbers);
    }
    const std::int64_t first = numbers[0].digits, last = numbers[1].digits, step = numbers[2].digits;
    if (step == 0 || (last - first) / step < 0 || (last != first && (last > first) != (step > 0))) {
      error(std::string(item) + " has no values: its steps lead away from its end");
      return;
    }
    if (static_cast<std::size_t>((last - first) / step) >= kMostSweepPoints) {
      error(std::string(item) + " has more than " + std::to_string(kMostSweepPoints) + " values");
      return;
    }
    for (std::int64_t i = 0; i <= (last - first) / step; ++i)
      values.push_back(text_of(first + i * step, numbers[0].decimals, numbers[0].unit));
  }

  void add_log2(std::string_view item, std::vector<std::string>& values) {
    const std::vector<Decimal> numbers = arguments(item, 2, 2, "log2(FIRST,LAST)");
    if (numbers.empty()) return;
    if (numbers[0].digits <= 0 || numbers[1].digits < numbers[0].digits) {
      error(std::string(item) + " has no values: expected 0 < FIRST <= LAST");
      return;
    }
    for (std::int64_t value = numbers[0].digits; value <= numbers[1].digits; value *= 2) {
      values.push_back(text_of(value, numbers[0].decimals, numbers[0].unit));
      if (value > numbers[1].digits / 2) break;  // before it overflows
    }
  }

  const std::string& place_;
  std::vector<InputError>& errors_;
};

}  // namespace

std::optional<SweepAxis> parse_axis(std::string_view text, const std::string& place, std::vector<InputError>& errors) {
  return AxisParser(place, errors).parse(text);
}

std::vector<SweepAxis> read_sweep_section(const JsonValue& document, std::vector<InputError>& errors) {
  std::vector<SweepAxis> axes;
  const JsonValue* section = document.find("sweep");
  if (section == nullptr) return axes;
  const bool texts =
      section->type == JsonValue::Type::Array &&
      std::ranges::all_of(section->items, [](const JsonValue& item) { return item.type == JsonValue::Type::String; });
  if (!texts) {
    errors.push_back(
        {place_of("/sweep", section->origin), R"(expected a list of axes, such as ["workload.batch=48,98"])"});
    return axes;
  }
  for (std::size_t i = 0; i < section->items.size(); ++i) {
    const std::string place = place_of(pointer_to("/sweep", std::to_string(i)), section->items[i].origin);
    if (std::optional<SweepAxis> axis = parse_axis(section->items[i].text, place, errors))
      axes.push_back(std::move(*axis));
  }
  return axes;
}

}  // namespace uvmsim
