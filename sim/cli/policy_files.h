// The policies in configs/policies/.
#pragma once

#include <string>
#include <vector>

#include "study/policy_file.h"

namespace uvmsim {

// What `uvmsim compare` shows unless it is told otherwise.
const std::vector<std::string>& default_policies();

// The policies with these names, or in these files, in this order. UserError with every fault: a name that is no file,
// with the nearest one; a name that stands there twice; a file that cannot be read as a policy.
std::vector<PolicyFile> find_policies(const std::vector<std::string>& names);

// All of them, by name.
std::vector<PolicyFile> bundled_policies();

}  // namespace uvmsim
