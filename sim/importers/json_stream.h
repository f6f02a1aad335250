// JSON files of any size, one element at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/json_document.h"
#include "importers/import_file.h"
#include "trace/error_list.h"

namespace uvmsim {

// An element of a list that is a member of the outermost object (or of an outermost list: `key` is ""), or any other
// member of the outermost object. A trace::ParseError that the function throws becomes an error at the line where the
// value starts, and the next one follows.
using OnJson = std::function<void(const std::string& key, bool in_list, JsonValue& value)>;

// Reads `file`: one value, or, where the format allows it, `several` ones after another. Memory: the largest element,
// which may have a million values and nest 64 deep. Adds an error for the first syntax error and stops there.
void read_json(const ImportFile& file, trace::ErrorList& errors, const OnJson& on_value, bool several = false);

// A member as a whole number; numbers in strings count, too. nullopt when it is missing or anything else.
std::optional<std::int64_t> whole_member(const JsonValue& object, std::string_view key);
// A member as text; "" when it is missing or no string.
const std::string& text_member(const JsonValue& object, std::string_view key);
// A member that counts microseconds, as nanoseconds, exact to the digits written; nullopt as above.
std::optional<std::int64_t> microseconds_member(const JsonValue& object, std::string_view key);

}  // namespace uvmsim
