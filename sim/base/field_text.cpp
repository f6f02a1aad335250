#include "base/field_text.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/join.h"
#include "base/quantity.h"

namespace uvmsim {
namespace {

// " sample" after 1, " samples" after other numbers; units such as 1/s and ns stay.
std::string unit_after(double number, const std::string& unit) {
  if (unit.empty()) return "";
  const bool word = unit.size() > 2 && unit.ends_with('s') && unit.find('/') == std::string::npos;
  return " " + (number == 1 && word ? unit.substr(0, unit.size() - 1) : unit);
}

using Kind = FieldInfo::Kind;
using Json = nlohmann::ordered_json;

std::string dump(const Json& json) { return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace); }

std::string range_end(const FieldInfo& field, double value) {
  if (field.kind == Kind::ByteCount) return to_text(Bytes{static_cast<std::int64_t>(value)});
  if (field.kind == Kind::Bandwidth) return to_text(BytesPerSecond{static_cast<std::int64_t>(value)});
  if (field.kind == Kind::TimeSpan) return to_text(from_seconds(value));
  if (value == std::floor(value) && std::abs(value) < 1e15) return std::to_string(static_cast<std::int64_t>(value));
  return dump(Json(value));
}

template <class T>
const T& member(const FieldInfo& field, const void* object) {
  return *static_cast<const T*>(field.locate(const_cast<void*>(object)));  // described once, to read and to write
}

std::string text_of(const FieldInfo& field, const void* object) {
  return field.text_of ? field.text_of(object) : member<std::string>(field, object);
}

// The most that a quantity may be where its description names nothing less: what adds up and multiplies as simulated
// quantities do without leaving their 64 bits. 256 TiB, ten days, 1 PiB/s.
std::optional<double> most(const FieldInfo& field) {
  if (field.max) return field.max;
  if (field.kind == Kind::ByteCount) return 0x1p48;
  if (field.kind == Kind::TimeSpan) return 864'000;
  if (field.kind == Kind::Bandwidth) return 0x1p50;
  return std::nullopt;
}

}  // namespace

bool is_in_range(const FieldInfo& field, double value) {
  const std::optional<double> max = most(field);
  return !(field.min && value < *field.min) && !(max && value > *max);
}

bool has_valid_default(const FieldInfo& field, const void* object) {
  switch (field.kind) {
    case Kind::Integer32:
      return is_in_range(field, member<int>(field, object));
    case Kind::Integer64:
      return is_in_range(field, static_cast<double>(member<std::int64_t>(field, object)));
    case Kind::Number:
      return is_in_range(field, member<double>(field, object));
    case Kind::ByteCount:
      return is_in_range(field, static_cast<double>(member<Bytes>(field, object).value));
    case Kind::Bandwidth:
      return is_in_range(field, static_cast<double>(member<BytesPerSecond>(field, object).value));
    case Kind::TimeSpan:
      return is_in_range(field, seconds(member<Duration>(field, object)));
    case Kind::Text:
      return field.choices.empty() || std::ranges::find(field.choices, text_of(field, object)) != field.choices.end();
    default:
      return true;
  }
}

std::string range_text(const FieldInfo& field) {
  const bool quantity = field.kind == Kind::ByteCount || field.kind == Kind::Bandwidth || field.kind == Kind::TimeSpan;
  const std::string unit = quantity ? "" : field.unit;
  const std::optional<double> max = most(field);
  if (field.min && max) return range_end(field, *field.min) + ".." + range_end(field, *max) + unit_after(*max, unit);
  if (field.min) return "at least " + range_end(field, *field.min) + unit_after(*field.min, unit);
  if (max) return "at most " + range_end(field, *max) + unit_after(*max, unit);
  return "";
}

std::string expected_form(const FieldInfo& field) {
  const std::string range = range_text(field).empty() ? "" : ", " + range_text(field);
  switch (field.kind) {
    case Kind::Integer32:
    case Kind::Integer64:
      return "a whole number" + range;
    case Kind::Number:
      return "a number" + range;
    case Kind::Flag:
      return "true or false";
    case Kind::Text: {
      const std::string plug_in = field.plug_in.empty() ? "" : "a name from `uvmsim list " + field.plug_in + "`";
      if (field.choices.empty()) return plug_in.empty() ? "a text" : plug_in;
      if (field.choices == std::vector<std::string>{""}) return plug_in + ", or \"\"";
      return "one of " + joined(field.choices) + (plug_in.empty() ? "" : ", or " + plug_in);
    }
    case Kind::ByteCount:
      return std::string(kBytesForm);
    case Kind::Bandwidth:
      return std::string(kBandwidthForm);
    case Kind::TimeSpan:
      return std::string(kDurationForm);
    case Kind::Section:
      return "an object";
    case Kind::SectionList:
      return "a list of objects";
    case Kind::NumberList:
      return "a list of numbers" + range;
    case Kind::IntegerList:
      return "a list of whole numbers" + range;
  }
  return "";
}

std::string value_json(const FieldInfo& field, const void* object) {
  switch (field.kind) {
    case Kind::Integer32:
      return dump(member<int>(field, object));
    case Kind::Integer64:
      return dump(member<std::int64_t>(field, object));
    case Kind::Number:
      return dump(member<double>(field, object));
    case Kind::Flag:
      return dump(member<bool>(field, object));
    case Kind::Text:
      return dump(text_of(field, object));
    case Kind::ByteCount:
      return dump(to_text(member<Bytes>(field, object)));
    case Kind::Bandwidth:
      return dump(to_text(member<BytesPerSecond>(field, object)));
    case Kind::TimeSpan:
      return dump(to_text(member<Duration>(field, object)));
    case Kind::NumberList:
      return dump(member<std::vector<double>>(field, object));
    case Kind::IntegerList:
      return dump(field.integers_of ? field.integers_of(object) : member<std::vector<std::int64_t>>(field, object));
    case Kind::Section:
    case Kind::SectionList:
      break;
  }
  UVMSIM_CHECK(false, "a section is not a leaf");
  return "";
}

}  // namespace uvmsim
