// Writes described structs as JSON: the other direction of json_reader.h.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/describe.h"

namespace uvmsim {

// `object` as described, without what equals `plain`, a default-made object of the same type, unless its default is
// none that may be read. Sections and lists that are empty then are left out.
nlohmann::ordered_json written_as_described(const Description& description, const void* object, const void* plain);

}  // namespace uvmsim
