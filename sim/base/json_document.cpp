#include "base/json_document.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "base/json_builder.h"

namespace uvmsim {
namespace {

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

// A document whose values know their lines.
class DocumentBuilder final : public JsonBuilder {
 public:
  DocumentBuilder(const std::string& file, const int& line, std::vector<InputError>& errors)
      : file_(file), line_(line), errors_(errors) {}

  JsonValue take() { return std::move(root_); }

  bool key(string_t& value) override {
    if (innermost()->find(value) != nullptr)
      errors_.push_back({place_of(pointer_to(pointer(), value), origin()), "duplicate key"});
    return JsonBuilder::key(value);
  }

 private:
  std::string origin() const { return file_ + ":" + std::to_string(line_); }
  JsonValue& place(JsonValue value) override {
    value.origin = origin();
    return JsonBuilder::place(std::move(value));
  }
  bool fail(const std::string& what) override {
    errors_.push_back({origin(), what});
    return false;
  }

  const std::string& file_;
  const int& line_;
  std::vector<InputError>& errors_;
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
  DocumentBuilder builder(file, line, errors);
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
