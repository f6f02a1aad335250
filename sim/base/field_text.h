// What a described member may be, and what it is, as text.
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

// Whether `value`, in the unit of the field's range, is inside it.
bool is_in_range(const FieldInfo& field, double value);
// Whether leaf `field` of a default-made `object` is in its range and among its choices.
bool has_valid_default(const FieldInfo& field, const void* object);

}  // namespace uvmsim
