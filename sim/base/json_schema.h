// JSON Schema (draft 2020-12) of described structs, for editors. The reader is stricter: see json_reader.h.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/describe.h"

namespace uvmsim {

// The schema of an object with the description's members, of `extends`, and of nothing else. No member is
// required, because a file may inherit what it does not say. Refers to schema_definitions().
nlohmann::ordered_json schema_of(const Description& description);

// The schema of one member: the value, the annotated value, or null.
nlohmann::ordered_json schema_of(const FieldInfo& field);

// What the schemas refer to as "#/$defs/...".
nlohmann::ordered_json schema_definitions();

}  // namespace uvmsim
