// The config's "workload.transforms": a list of what happens to the trace before it runs, in order.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/json_reader.h"
#include "workload/transform.h"

namespace uvmsim {

// What every element of the list has; the transform's parameters are keys next to it.
struct TransformName {
  std::string name;
  bool optional = false;
};
const Description& describe_transform_name();

// Reads "transforms" of a "workload" section; nothing when there is none. An optional one leaves a trace as it is that
// it selects nothing of. Appends errors as read_described, and for a transform that is not known.
std::vector<std::shared_ptr<Transform>> read_transforms(const JsonValue* workload, const std::string& pointer,
                                                        std::vector<InputError>& errors, ResolvedConfig& resolved);

// The transform that a command line means by "NAME" or "NAME:KEY=VALUE,KEY=VALUE"; faults at `place`. nullptr: there
// are.
std::shared_ptr<Transform> parse_transform(const std::string& text, const std::string& place,
                                           std::vector<InputError>& errors);

}  // namespace uvmsim
