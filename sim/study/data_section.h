// The config's "data" section: how training gets its data.
#pragma once

#include <string>
#include <vector>

#include "base/json_reader.h"
#include "loading/data_config.h"
#include "machine/machine.h"

namespace uvmsim {

// Reads a "data" section; the defaults when there is none. Appends errors as read_described, and for a cache that is
// not known or larger than the machine's memory, for storage that the machine does not have, and for servers or jobs
// that share what they cannot.
DataConfig read_data_section(const JsonValue* value, const std::string& pointer, const Machine& machine,
                             std::vector<InputError>& errors, ResolvedConfig& resolved);

}  // namespace uvmsim
