// Reads JSON objects whose members are not those of a described struct. Every error is appended, with its place.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_document.h"

namespace uvmsim {

class ObjectReader {
 public:
  // `object` may be of another type: that is an error, and the object reads as empty.
  ObjectReader(const JsonValue& object, std::string pointer, std::vector<InputError>& errors);

  // The member called `key`, or nullptr.
  const JsonValue* find(std::string_view key);
  bool has(std::string_view key) const { return object_.find(key) != nullptr; }

  // Members of one type; nullopt when there is none, with an error when it is of another type.
  std::optional<std::string> text(std::string_view key);
  std::optional<double> number(std::string_view key);
  // A number, or a list of one at least; empty when there is none, or after an error.
  std::vector<double> numbers(std::string_view key);
  bool flag(std::string_view key);
  // The elements of a list; empty when there is none.
  std::vector<const JsonValue*> list(std::string_view key);
  // A text that must be there and not be empty; "" after an error.
  std::string required_text(std::string_view key);
  // One of `choices`; the first when there is none, or after an error.
  std::string choice(std::string_view key, const std::vector<std::string>& choices);

  // Call last: members that none of the above asked for are unknown keys.
  void refuse_the_rest();

  void error(std::string message) { errors_.push_back({place_of(pointer_, object_.origin), std::move(message)}); }
  void error(std::string_view key, std::string message);
  std::string pointer(std::string_view key) const { return pointer_to(pointer_, key); }

 private:
  const JsonValue& object_;
  std::string pointer_;
  std::vector<InputError>& errors_;
  std::vector<std::string> known_;
};

}  // namespace uvmsim
