#include "study/validation/object_reader.h"

#include <algorithm>

#include "base/join.h"

namespace uvmsim {

using Type = JsonValue::Type;

ObjectReader::ObjectReader(const JsonValue& object, std::string pointer, std::vector<InputError>& errors)
    : object_(object), pointer_(std::move(pointer)), errors_(errors) {
  if (object_.type != Type::Object) error("expected an object");
}

const JsonValue* ObjectReader::find(std::string_view key) {
  if (std::ranges::find(known_, key) == known_.end()) known_.emplace_back(key);
  return object_.find(key);
}

std::optional<std::string> ObjectReader::text(std::string_view key) {
  const JsonValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->type == Type::String) return value->text;
  error(key, "expected a text");
  return std::nullopt;
}

std::optional<double> ObjectReader::number(std::string_view key) {
  const JsonValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->type == Type::Integer || value->type == Type::Number) return value->number;
  error(key, "expected a number");
  return std::nullopt;
}

std::vector<double> ObjectReader::numbers(std::string_view key) {
  const JsonValue* value = find(key);
  if (value == nullptr) return {};
  std::vector<double> found;
  for (const JsonValue& item : value->type == Type::Array ? value->items : std::vector<JsonValue>{*value})
    if (item.type == Type::Integer || item.type == Type::Number) found.push_back(item.number);
  const bool all = value->type != Type::Array || found.size() == value->items.size();
  if (!found.empty() && all) return found;
  error(key, "expected a number, or a list of what several runs measured");
  return {};
}

bool ObjectReader::flag(std::string_view key) {
  const JsonValue* value = find(key);
  if (value != nullptr && value->type != Type::Boolean) error(key, "expected true or false");
  return value != nullptr && value->boolean;
}

std::vector<const JsonValue*> ObjectReader::list(std::string_view key) {
  const JsonValue* value = find(key);
  std::vector<const JsonValue*> items;
  if (value != nullptr && value->type != Type::Array) error(key, "expected a list");
  if (value != nullptr)
    for (const JsonValue& item : value->items) items.push_back(&item);
  return items;
}

std::string ObjectReader::required_text(std::string_view key) {
  const std::size_t before = errors_.size();
  std::string found = text(key).value_or("");
  if (found.empty() && errors_.size() == before && object_.type == Type::Object)
    error(key, has(key) ? "expected a text that is not empty" : "missing; expected a text");
  return found;
}

std::string ObjectReader::choice(std::string_view key, const std::vector<std::string>& choices) {
  std::string found = text(key).value_or(choices.front());
  if (std::ranges::find(choices, found) != choices.end()) return found;
  error(key, "expected one of " + joined(choices) + ", got \"" + found + "\"");
  return choices.front();
}

void ObjectReader::refuse_the_rest() {
  for (const JsonMember& member : object_.members) {
    if (std::ranges::find(known_, member.key) != known_.end()) continue;
    error(member.key, "unknown key" + did_you_mean(member.key, known_));
  }
}

void ObjectReader::error(std::string_view key, std::string message) {
  const JsonValue* value = object_.find(key);
  errors_.push_back({place_of(pointer(key), value == nullptr ? object_.origin : value->origin), std::move(message)});
}

}  // namespace uvmsim
