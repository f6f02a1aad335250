// JSON as configs use it: values that know where they were written, comments, `extends`, `--set`.
//
// `extends` may stand in any object: a file name, or a list of them, each relative to the file that names
// it. The named files are merged in order and the object over them: objects merge key by key, everything
// else replaces, `null` deletes what was inherited. An object with an `extends` of its own replaces what
// its outer object inherited at that place, and so does an annotated value (is_annotated).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/user_error.h"

namespace uvmsim {

struct JsonMember;

struct JsonValue {
  enum class Type { Null, Boolean, Integer, Number, String, Array, Object };
  Type type = Type::Null;
  bool boolean = false;
  std::int64_t integer = 0;
  double number = 0;                // of an Integer, too
  std::string text{};               // of a String; of a number, as it was written
  std::vector<JsonValue> items{};   // of an Array
  std::vector<JsonMember> members;  // of an Object, in order; keys are unique
  std::string origin{};             // "configs/a.json:12", or "--set"
  bool replaces = false;            // of an Object that had an `extends`: does not merge with what it overrides

  const JsonValue* find(std::string_view key) const;
  JsonValue* find(std::string_view key);
};

struct JsonMember {
  std::string key;
  JsonValue value;
};

// The text of a file, or nullopt when it cannot be read. Paths are as load_json forms them.
using FileLoader = std::function<std::optional<std::string>(const std::string& path)>;

// Parses JSON with // and /* */ comments. Appends an error for the first syntax error, each duplicate key,
// and nesting deeper than 64; what is returned is meaningless then. `file` names the text in origins.
JsonValue parse_json(std::string_view text, const std::string& file, std::vector<InputError>& errors);

// Parses `path` and merges everything it extends. Appends errors as parse_json, and for files that cannot
// be read and files that extend themselves.
JsonValue load_json(const std::string& path, const FileLoader& load, std::vector<InputError>& errors);

// Applies one "a.b.c=value" to `document`. The value is JSON if it parses as JSON, else a string. Objects on
// the way are made; a number names an element of an existing list. Whether the key exists is for the
// reader to say. Appends an error when there is no '=' or a part of the path is not an object or list.
void apply_setting(JsonValue& document, std::string_view setting, std::vector<InputError>& errors);
// The same with key and value apart; `origin` is where the setting stands.
void apply_setting(JsonValue& document, std::string_view key, JsonValue value, const std::string& origin,
                   std::vector<InputError>& errors);

// Whether `value` is {"value": ..., "status": ..., "source": ...}: a leaf with its provenance.
bool is_annotated(const JsonValue& value);

// `pointer` extended by one reference token, escaped. RFC 6901.
std::string pointer_to(const std::string& pointer, std::string_view key);

// "/driver/version (configs/a.json:12)"; the bare pointer when there is no origin.
std::string place_of(const std::string& pointer, const std::string& origin);

// `file` as named from inside `from`: relative names are relative to the folder of `from`; "." and ".."
// are resolved by name only.
std::string path_beside(const std::string& from, const std::string& file);

}  // namespace uvmsim
