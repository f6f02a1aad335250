// A policy that `uvmsim compare` can name: a file in configs/policies/.
#pragma once

#include <string>
#include <vector>

#include "base/user_error.h"

namespace uvmsim {

struct PolicyFile {
  std::string name;                   // of the file
  std::string description;            // one sentence
  std::string on_hardware;            // what it takes to use it: a module parameter, calls, a change of the driver
  std::vector<std::string> settings;  // "driver.uvm_perf_prefetch_threshold=5", as behind --set
};

// Reads `text`, which stands in `file`: {"description", "on_hardware", "set": {dotted key: value}}. A policy may set
// keys of the driver, calls, and where allocations live, but not what runs: policies are compared on one trace.
// Appends an error for anything else; what is returned is meaningless then.
PolicyFile read_policy(const std::string& name, const std::string& text, const std::string& file,
                       std::vector<InputError>& errors);

}  // namespace uvmsim
