#include "base/json_document.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/check.h"

namespace uvmsim {
namespace {

constexpr std::size_t kMaxDepth = 64;

// Reads the text for the parser and keeps the line of the last character that is not white space. The
// parser reads at most one character beyond a number, so this is the line of the token it reports.
class LineCounting {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  LineCounting(const char* at, int* line) : at_(at), line_(line) {}
  reference operator*() const { return *at_; }
  LineCounting& operator++() {
    if (*at_ == '\n') ++newlines_;
    if (*at_ != '\n' && *at_ != ' ' && *at_ != '\t' && *at_ != '\r') *line_ = newlines_ + 1;
    ++at_;
    return *this;
  }
  LineCounting operator++(int) {
    LineCounting old = *this;
    ++*this;
    return old;
  }
  friend bool operator==(const LineCounting& a, const LineCounting& b) { return a.at_ == b.at_; }

 private:
  const char* at_;
  int* line_;
  int newlines_ = 0;
};

// Builds a JsonValue from the parser's events.
class TreeBuilder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  TreeBuilder(const std::string& file, const int& line, std::vector<InputError>& errors)
      : file_(file), line_(line), errors_(errors) {}

  JsonValue take() { return std::move(root_); }

  bool null() override { return add({}); }
  bool boolean(bool value) override {
    JsonValue v;
    v.type = JsonValue::Type::Boolean;
    v.boolean = value;
    return add(std::move(v));
  }
  bool number_integer(number_integer_t value) override { return add_integer(value); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value <= static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max()))
      return add_integer(static_cast<std::int64_t>(value));
    return number_float(static_cast<double>(value), std::to_string(value));
  }
  bool number_float(number_float_t value, const string_t& text) override {
    JsonValue v;
    v.type = JsonValue::Type::Number;
    v.number = value;
    v.text = text;
    return add(std::move(v));
  }
  bool string(string_t& value) override {
    JsonValue v;
    v.type = JsonValue::Type::String;
    v.text = std::move(value);
    return add(std::move(v));
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(JsonValue::Type::Object); }
  bool start_array(std::size_t) override { return open(JsonValue::Type::Array); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override {
    JsonValue& object = *open_.back().value;
    member_ = value;
    if (object.find(value) != nullptr)
      errors_.push_back({place_of(pointer_to(open_.back().pointer, value), origin()), "duplicate key"});
    else
      object.members.push_back({value, {}});
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 3, column 1: <what is wrong>"
    std::string what = error.what();
    if (const std::size_t at = what.find("column"); at != std::string::npos)
      if (const std::size_t colon = what.find(": ", at); colon != std::string::npos) what.erase(0, colon + 2);
    if (const std::size_t id = what.find("] "); what.starts_with("[json.") && id != std::string::npos)
      what.erase(0, id + 2);
    errors_.push_back({origin(), what});
    return false;
  }

 private:
  struct Open {
    JsonValue* value;
    std::string pointer;
  };

  std::string origin() const { return file_ + ":" + std::to_string(line_); }

  bool add_integer(std::int64_t value) {
    JsonValue v;
    v.type = JsonValue::Type::Integer;
    v.integer = value;
    v.number = static_cast<double>(value);
    v.text = std::to_string(value);
    return add(std::move(v));
  }
  bool add(JsonValue value) {
    place(std::move(value));
    return true;
  }
  JsonValue& place(JsonValue value) {
    value.origin = origin();
    if (open_.empty()) return root_ = std::move(value);
    JsonValue& in = *open_.back().value;
    if (in.type == JsonValue::Type::Array) return in.items.emplace_back(std::move(value));
    return *in.find(member_) = std::move(value);
  }
  bool open(JsonValue::Type type) {
    if (open_.size() == kMaxDepth) {
      errors_.push_back({origin(), "nested deeper than " + std::to_string(kMaxDepth) + " levels"});
      return false;
    }
    std::string pointer;
    if (!open_.empty()) {
      const JsonValue& in = *open_.back().value;
      const bool list = in.type == JsonValue::Type::Array;
      pointer = pointer_to(open_.back().pointer, list ? std::to_string(in.items.size()) : member_);
    }
    JsonValue v;
    v.type = type;
    open_.push_back({&place(std::move(v)), std::move(pointer)});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const std::string& file_;
  const int& line_;
  std::vector<InputError>& errors_;
  JsonValue root_;
  std::vector<Open> open_;
  std::string member_;
};

}  // namespace

const JsonValue* JsonValue::find(std::string_view key) const {
  const auto it = std::ranges::find(members, key, &JsonMember::key);
  return it == members.end() ? nullptr : &it->value;
}
JsonValue* JsonValue::find(std::string_view key) {
  const auto it = std::ranges::find(members, key, &JsonMember::key);
  return it == members.end() ? nullptr : &it->value;
}

JsonValue parse_json(std::string_view text, const std::string& file, std::vector<InputError>& errors) {
  int line = 1;
  TreeBuilder builder(file, line, errors);
  const bool complete =
      nlohmann::json::sax_parse(LineCounting(text.data(), &line), LineCounting(text.data() + text.size(), &line),
                                &builder, nlohmann::json::input_format_t::json, /*strict=*/true,
                                /*ignore_comments=*/true);
  UVMSIM_CHECK(complete || !errors.empty(), "a syntax error was not reported");
  return builder.take();
}

bool is_annotated(const JsonValue& value) {
  return value.type == JsonValue::Type::Object && value.find("value") != nullptr;
}

std::string pointer_to(const std::string& pointer, std::string_view key) {
  std::string extended = pointer + "/";
  for (const char c : key)
    if (c == '~')
      extended += "~0";
    else if (c == '/')
      extended += "~1";
    else
      extended += c;
  return extended;
}

std::string place_of(const std::string& pointer, const std::string& origin) {
  if (pointer.empty()) return origin;
  return origin.empty() ? pointer : pointer + " (" + origin + ")";
}

}  // namespace uvmsim
