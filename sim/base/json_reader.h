// Reads described structs from a JSON document: strictly, and with every error at once.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/describe.h"
#include "base/json_document.h"
#include "base/user_error.h"

namespace uvmsim {

// How well a value is known, as annotated values state it.
//   datasheet  printed by the maker            measured  measured by somebody, on this hardware
//   fitted     chosen so that a model matches a measurement
//   scaled     computed from another value by a stated rule
//   assumed    a judgement
inline const std::vector<std::string> kStatuses = {"datasheet", "measured", "fitted", "scaled", "assumed"};

// One leaf of a configuration after everything was merged, and where its value comes from.
struct ResolvedValue {
  std::string pointer;  // "/machine/gpu/memory"
  std::string json;     // the value as JSON: "\"32 GiB\"", "51"
  std::string status;   // one of kStatuses, or "" when it is not stated
  std::string source;
  std::string origin;  // "configs/a.json:12", "--set", or "default"
};
using ResolvedConfig = std::vector<ResolvedValue>;  // in the order of the descriptions

// The values as one JSON object of the shape they were read from. With `provenance` each leaf that states a
// status or a source, or does not come from a default, is {"value", "status", "source", "origin"}, which the
// reader accepts again; without, it is the bare value. Ends in a newline.
std::string to_json(const ResolvedConfig& values, bool provenance);

// Reads the members of `value` (an object; nullptr: nothing was written) into `parts`, which share its
// keys. What is not written keeps its default; a default outside its range means that the key must be
// written. Appends an error for each key that is unknown, missing, mistyped or out of range.
//
//   pointer  of `value`, for places
//   resolved receives every leaf of `parts`, defaults included
void read_described(const JsonValue* value, const std::string& pointer, std::span<const DescribedObject> parts,
                    std::vector<InputError>& errors, ResolvedConfig& resolved);

}  // namespace uvmsim
