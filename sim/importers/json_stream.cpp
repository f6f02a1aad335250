#include "importers/json_stream.h"

#include <cmath>
#include <iterator>
#include <vector>

#include "base/json_builder.h"
#include "importers/text_fields.h"

namespace uvmsim {
namespace {

constexpr std::size_t kMostValues = 1'000'000;
constexpr std::size_t kLongestToken = std::size_t{64} << 20;  // bytes of a text, or of white space
constexpr std::size_t kReadSize = std::size_t{1} << 18;

// The bytes of a source, and the line they stand on.
struct Cursor {
  explicit Cursor(trace::ByteSource& bytes) : source(bytes), buffer(kReadSize) { fill(); }

  bool at_end() const { return position == size; }
  void advance() {
    if (++token > kLongestToken) throw trace::ParseError{"expected a text of at most 64 MiB"};
    if (buffer[position] == '\n') ++line;
    if (++position == size) fill();
  }
  void skip_space() {
    while (!at_end() && (buffer[position] == ' ' || buffer[position] == '\n' || buffer[position] == '\r' ||
                         buffer[position] == '\t'))
      advance();
  }
  void fill() {
    size = source.read(buffer.data(), buffer.size());
    position = 0;
  }

  trace::ByteSource& source;
  std::vector<char> buffer;
  std::size_t position = 0, size = 0;
  std::int64_t line = 1;
  std::size_t token = 0;  // bytes since the last value, key or bracket
};

// What nlohmann's parser reads from: copies share the cursor.
class Input {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  explicit Input(Cursor* cursor) : cursor_(cursor) {}
  reference operator*() const { return cursor_->buffer[cursor_->position]; }
  Input& operator++() {
    cursor_->advance();
    return *this;
  }
  void operator++(int) { cursor_->advance(); }
  friend bool operator==(const Input& a, const Input& b) { return a.done() == b.done(); }
  friend bool operator!=(const Input& a, const Input& b) { return !(a == b); }

 private:
  bool done() const { return cursor_ == nullptr || cursor_->at_end(); }
  Cursor* cursor_;
};

// Builds the values inside the outermost one and hands them out.
class Splitter final : public JsonBuilder {
 public:
  Splitter(const std::string& file, Cursor& cursor, trace::ErrorList& errors, const OnJson& on_value)
      : file_(file), cursor_(cursor), errors_(errors), on_value_(on_value) {}

  bool key(string_t& value) override {
    cursor_.token = 0;
    if (innermost() != nullptr) return JsonBuilder::key(value);
    key_ = std::move(value);
    return true;
  }

 private:
  std::string here(std::int64_t line) const { return file_ + ":" + std::to_string(line); }
  bool fail(const std::string& why) override {
    errors_.add(here(cursor_.line), why);
    return false;
  }

  bool add(JsonValue value) override {
    cursor_.token = 0;
    if (outer_ == Outer::None) return fail("expected an object or a list");
    if (!count()) return false;
    place(std::move(value));
    if (innermost() == nullptr) hand_out();
    return true;
  }

  bool begin(JsonValue::Type type) override {
    cursor_.token = 0;
    const bool list = type == JsonValue::Type::Array;
    if (outer_ == Outer::None) {
      outer_ = list ? Outer::List : Outer::Object;
      return true;
    }
    if (innermost() == nullptr && outer_ == Outer::Object && !in_list_ && list) {
      in_list_ = true;
      return true;
    }
    return count() && JsonBuilder::begin(type);
  }

  bool end() override {
    cursor_.token = 0;
    if (innermost() != nullptr) {
      JsonBuilder::end();
      if (innermost() == nullptr) hand_out();
    } else if (in_list_) {
      in_list_ = false;
    } else {
      outer_ = Outer::None;
    }
    return true;
  }

  bool count() {
    if (innermost() == nullptr) {
      line_ = cursor_.line;
      values_ = 0;
    }
    return ++values_ <= kMostValues || fail("expected an element of at most a million values");
  }

  void hand_out() {
    try {
      on_value_(key_, in_list_ || outer_ == Outer::List, root_);
    } catch (const trace::ParseError& error) {
      errors_.add(here(line_), error.message);
    }
  }

  enum class Outer { None, Object, List };
  const std::string& file_;
  Cursor& cursor_;
  trace::ErrorList& errors_;
  const OnJson& on_value_;
  Outer outer_ = Outer::None;
  bool in_list_ = false;  // inside a list that is a member of the outermost object
  std::string key_;
  std::size_t values_ = 0;
  std::int64_t line_ = 1;
};

}  // namespace

void read_json(const ImportFile& file, trace::ErrorList& errors, const OnJson& on_value, bool several) {
  const auto source = file.open();
  Cursor cursor(*source);
  cursor.skip_space();
  try {
    do {
      Splitter splitter(file.name(), cursor, errors, on_value);
      if (!nlohmann::json::sax_parse(Input(&cursor), Input(nullptr), &splitter, nlohmann::json::input_format_t::json,
                                     false))
        return;
      cursor.skip_space();
    } while (several && !cursor.at_end());
    if (!cursor.at_end()) throw trace::ParseError{"expected the end of the file: a second document follows the first"};
  } catch (const trace::ParseError& error) {
    errors.add(file.name() + ":" + std::to_string(cursor.line), error.message);
  }
}

std::optional<std::int64_t> whole_member(const JsonValue& object, std::string_view key) {
  const JsonValue* value = object.find(key);
  if (value == nullptr) return std::nullopt;
  if (value->type == JsonValue::Type::Integer) return value->integer;
  if (value->type == JsonValue::Type::String) return number_of<std::int64_t>(value->text);
  if (value->type == JsonValue::Type::Number && std::abs(value->number) < 9e18 &&
      value->number == std::floor(value->number))
    return static_cast<std::int64_t>(value->number);
  return std::nullopt;
}

const std::string& text_member(const JsonValue& object, std::string_view key) {
  static const std::string none;
  const JsonValue* value = object.find(key);
  return value == nullptr || value->type != JsonValue::Type::String ? none : value->text;
}

std::optional<std::int64_t> microseconds_member(const JsonValue& object, std::string_view key) {
  const JsonValue* value = object.find(key);
  if (value == nullptr) return std::nullopt;
  if (std::abs(value->number) > 9e15) return std::nullopt;
  if (value->type == JsonValue::Type::Integer) return value->integer * 1000;
  if (value->type != JsonValue::Type::Number || !std::isfinite(value->number)) return std::nullopt;
  const std::size_t point = value->text.find('.');
  const auto micros = number_of<std::int64_t>(std::string_view(value->text).substr(0, point));
  std::string digits = point == std::string::npos ? "" : value->text.substr(point + 1, 3);
  digits.resize(3, '0');
  const auto nanos = number_of<std::int64_t>(digits);
  if (!micros || !nanos || value->text[0] == '-') return std::llround(value->number * 1000);
  return *micros * 1000 + *nanos;
}

}  // namespace uvmsim
