// The config's "workload.calls": which call policies the program follows. Their parameters are in
// "workload.call_options", by name.
#pragma once

#include <string>
#include <vector>

#include "base/user_error.h"
#include "plan/call_policy.h"

namespace uvmsim {

// The policies that `names` ("discard,operand_prefetch") name, with their default parameters; an error at `place` for
// each name that is not known or stands there twice.
std::vector<NamedCallPolicy> read_call_policies(const std::string& names, const std::string& place,
                                                std::vector<InputError>& errors);

}  // namespace uvmsim
