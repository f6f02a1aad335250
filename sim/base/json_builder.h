// Builds JsonValues from the events of nlohmann's parser.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json_document.h"

namespace uvmsim {

// What is derived says what becomes of the values and errors; its functions return false to stop the parser.
class JsonBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() final { return add({}); }
  bool boolean(bool value) final;
  bool number_integer(number_integer_t value) final;
  bool number_unsigned(number_unsigned_t value) final;
  bool number_float(number_float_t value, const string_t& text) final;
  bool string(string_t& value) final;
  bool binary(binary_t&) final { return false; }
  bool start_object(std::size_t) final { return begin(JsonValue::Type::Object); }
  bool start_array(std::size_t) final { return begin(JsonValue::Type::Array); }
  bool end_object() final { return end(); }
  bool end_array() final { return end(); }
  bool key(string_t& value) override;
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) final;

 protected:
  static constexpr std::size_t kMaxDepth = 64;

  // A scalar; a list or object; the end of the innermost one.
  virtual bool add(JsonValue value);
  virtual bool begin(JsonValue::Type type);
  virtual bool end();
  // Notes an error at the place that the parser stands at; false.
  virtual bool fail(const std::string& what) = 0;
  // Puts a value into the innermost list or object that is open: under the last key; as the root when none is.
  virtual JsonValue& place(JsonValue value);

  // The innermost list or object that is open; nullptr: none.
  JsonValue* innermost() { return open_.empty() ? nullptr : open_.back(); }
  // The JSON Pointer of the innermost one.
  std::string pointer() const;
  JsonValue root_;

 private:
  std::vector<JsonValue*> open_;
};

}  // namespace uvmsim
