#include "base/json_builder.h"

#include <limits>

namespace uvmsim {

bool JsonBuilder::boolean(bool value) {
  JsonValue v;
  v.type = JsonValue::Type::Boolean;
  v.boolean = value;
  return add(std::move(v));
}

bool JsonBuilder::number_integer(number_integer_t value) {
  JsonValue v;
  v.type = JsonValue::Type::Integer;
  v.integer = value;
  v.number = static_cast<double>(value);
  v.text = std::to_string(value);
  return add(std::move(v));
}

bool JsonBuilder::number_unsigned(number_unsigned_t value) {
  if (value <= static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max()))
    return number_integer(static_cast<std::int64_t>(value));
  return number_float(static_cast<double>(value), std::to_string(value));
}

bool JsonBuilder::number_float(number_float_t value, const string_t& text) {
  JsonValue v;
  v.type = JsonValue::Type::Number;
  v.number = value;
  v.text = text;
  return add(std::move(v));
}

bool JsonBuilder::string(string_t& value) {
  JsonValue v;
  v.type = JsonValue::Type::String;
  v.text = std::move(value);
  return add(std::move(v));
}

bool JsonBuilder::key(string_t& value) {
  open_.back()->members.push_back({std::move(value), {}});
  return true;
}

bool JsonBuilder::parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) {
  // "[json.exception.parse_error.101] parse error at line 3, column 1: <what is wrong>"
  std::string what = error.what();
  if (const std::size_t at = what.find("column"); at != std::string::npos)
    if (const std::size_t colon = what.find(": ", at); colon != std::string::npos) what.erase(0, colon + 2);
  if (const std::size_t id = what.find("] "); what.starts_with("[json.") && id != std::string::npos)
    what.erase(0, id + 2);
  return fail(what);
}

bool JsonBuilder::add(JsonValue value) {
  place(std::move(value));
  return true;
}

bool JsonBuilder::begin(JsonValue::Type type) {
  if (open_.size() == kMaxDepth) return fail("nested deeper than " + std::to_string(kMaxDepth) + " levels");
  JsonValue value;
  value.type = type;
  open_.push_back(&place(std::move(value)));
  return true;
}

bool JsonBuilder::end() {
  open_.pop_back();
  return true;
}

JsonValue& JsonBuilder::place(JsonValue value) {
  if (open_.empty()) return root_ = std::move(value);
  JsonValue& in = *open_.back();
  if (in.type == JsonValue::Type::Array) return in.items.emplace_back(std::move(value));
  return in.members.back().value = std::move(value);
}

std::string JsonBuilder::pointer() const {
  std::string pointer;
  for (std::size_t i = 0; i + 1 < open_.size(); ++i) {
    const JsonValue& in = *open_[i];
    pointer = pointer_to(
        pointer, in.type == JsonValue::Type::Array ? std::to_string(in.items.size() - 1) : in.members.back().key);
  }
  return pointer;
}

}  // namespace uvmsim
