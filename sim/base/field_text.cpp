#include "base/field_text.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/quantity.h"

namespace uvmsim {
namespace {

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

}  // namespace

std::string range_text(const FieldInfo& field) {
  const bool quantity = field.kind == Kind::ByteCount || field.kind == Kind::Bandwidth || field.kind == Kind::TimeSpan;
  const std::string unit = quantity || field.unit.empty() ? "" : " " + field.unit;
  if (field.min && field.max) return range_end(field, *field.min) + ".." + range_end(field, *field.max) + unit;
  if (field.min) return "at least " + range_end(field, *field.min) + unit;
  if (field.max) return "at most " + range_end(field, *field.max) + unit;
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
      if (field.choices.empty()) return "a text";
      std::string list;
      for (const std::string& choice : field.choices) list += (list.empty() ? "" : ", ") + choice;
      return "one of " + list;
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
  void* at = field.locate(const_cast<void*>(object));  // described once, for reading and writing
  switch (field.kind) {
    case Kind::Integer32:
      return dump(Json(*static_cast<int*>(at)));
    case Kind::Integer64:
      return dump(Json(*static_cast<std::int64_t*>(at)));
    case Kind::Number:
      return dump(Json(*static_cast<double*>(at)));
    case Kind::Flag:
      return dump(Json(*static_cast<bool*>(at)));
    case Kind::Text:
      return dump(Json(*static_cast<std::string*>(at)));
    case Kind::ByteCount:
      return dump(Json(to_text(*static_cast<Bytes*>(at))));
    case Kind::Bandwidth:
      return dump(Json(to_text(*static_cast<BytesPerSecond*>(at))));
    case Kind::TimeSpan:
      return dump(Json(to_text(*static_cast<Duration*>(at))));
    case Kind::NumberList:
      return dump(Json(*static_cast<std::vector<double>*>(at)));
    case Kind::IntegerList:
      return dump(Json(*static_cast<std::vector<std::int64_t>*>(at)));
    case Kind::Section:
    case Kind::SectionList:
      break;
  }
  UVMSIM_CHECK(false, "a section is not a leaf");
  return "";
}

}  // namespace uvmsim
