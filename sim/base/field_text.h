// A described member as text: what it may be, and what it is.
#pragma once

#include <string>

#include "base/describe.h"

namespace uvmsim {

// What a value of `field` looks like: `a time such as "45 us" (...)`, "a whole number in 0..100 %".
std::string expected_form(const FieldInfo& field);
// The field's range as text: "1..100 %", "at least 2 MiB", or "" when it has none.
std::string range_text(const FieldInfo& field);
// The value of leaf `field` in `object`, as JSON.
std::string value_json(const FieldInfo& field, const void* object);

}  // namespace uvmsim
