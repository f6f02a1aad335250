// The config's "workload.calls" and "workload.call_options": which call policies the program follows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/json_reader.h"
#include "plan/call_policy.h"

namespace uvmsim {

// The policies that `names` ("discard,operand_prefetch") name, with their default parameters; an error at `place` for
// each name that is not known or stands there twice.
std::vector<NamedCallPolicy> read_call_policies(const std::string& names, const std::string& place,
                                                std::vector<InputError>& errors);

// The parameters of `policies` as one section, "call_options"; described objects are the policies themselves, which
// must outlive what is returned. Empty when no policy is named.
struct CallOptions {
  explicit CallOptions(const std::vector<NamedCallPolicy>& policies);
  CallOptions(const CallOptions&) = delete;
  CallOptions& operator=(const CallOptions&) = delete;
  DescribedObject described() { return {&section_, this}; }

 private:
  Description options_, section_;
};

}  // namespace uvmsim
