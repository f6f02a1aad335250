// Reads JSON objects whose members are not those of a described struct. Every fault is appended, with its place.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_document.h"

namespace uvmsim {

class ObjectReader {
 public:
  // `object` may be of another type: that is a fault, and the object reads as empty.
  ObjectReader(const JsonValue& object, std::string pointer, std::vector<Fault>& faults);

  // The member called `key`, or nullptr.
  const JsonValue* find(std::string_view key);
  bool has(std::string_view key) const { return object_.find(key) != nullptr; }

  // Members of one type; nullopt when there is none, with a fault when it is of another type.
  std::optional<std::string> text(std::string_view key);
  std::optional<double> number(std::string_view key);
  bool flag(std::string_view key);
  // The elements of a list; empty when there is none.
  std::vector<const JsonValue*> list(std::string_view key);
  // A text that must be there and not be empty; "" after a fault.
  std::string required_text(std::string_view key);
  // One of `choices`; the first when there is none, or after a fault.
  std::string choice(std::string_view key, const std::vector<std::string>& choices);

  // Call last: members that none of the above asked for are unknown keys.
  void refuse_the_rest();

  void fault(std::string message) { faults_.push_back({place_of(pointer_, object_.origin), std::move(message)}); }
  void fault(std::string_view key, std::string message);
  std::string pointer(std::string_view key) const { return pointer_to(pointer_, key); }

 private:
  const JsonValue& object_;
  std::string pointer_;
  std::vector<Fault>& faults_;
  std::vector<std::string> known_;
};

}  // namespace uvmsim
