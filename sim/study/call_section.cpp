#include "study/call_section.h"

#include <algorithm>
#include <sstream>

namespace uvmsim {

std::vector<NamedCallPolicy> read_call_policies(const std::string& names, const std::string& place,
                                                std::vector<InputError>& errors) {
  std::vector<NamedCallPolicy> policies;
  std::istringstream in(names);
  for (std::string name; std::getline(in, name, ',');) {
    const auto* entry = call_policies().find(name);
    if (entry == nullptr)
      errors.push_back(call_policies().unknown(place, name));
    else if (std::ranges::find(policies, name, &NamedCallPolicy::name) != policies.end())
      errors.push_back({place, "\"" + name + "\" is named twice"});
    else
      policies.push_back({name, entry->make()});
  }
  return policies;
}

}  // namespace uvmsim
