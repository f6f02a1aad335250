#include "study/call_section.h"

#include <algorithm>
#include <sstream>

namespace uvmsim {
namespace {

FieldInfo section_field(std::string name, const Description& description, std::function<void*(void*)> locate) {
  FieldInfo field;
  field.name = std::move(name);
  field.kind = FieldInfo::Kind::Section;
  field.doc = description.doc;
  field.section = &description;
  field.locate = std::move(locate);
  return field;
}

}  // namespace

std::vector<NamedCallPolicy> read_call_policies(const std::string& names, const std::string& place,
                                                std::vector<InputError>& errors) {
  std::vector<NamedCallPolicy> policies;
  std::istringstream in(names);
  for (std::string name; std::getline(in, name, ',');) {
    const auto* entry = call_policies().find(name);
    if (entry == nullptr) {
      const std::string near = nearest(name, call_policies().names());
      errors.push_back({place, "no call policy is named \"" + name + "\"" +
                                   (near.empty() ? "; see `uvmsim list calls`" : "; did you mean \"" + near + "\"?")});
    } else if (std::ranges::find(policies, name, &NamedCallPolicy::name) != policies.end()) {
      errors.push_back({place, "\"" + name + "\" stands here twice"});
    } else {
      policies.push_back({name, entry->make()});
    }
  }
  return policies;
}

CallOptions::CallOptions(const std::vector<NamedCallPolicy>& policies) {
  options_.doc = "parameters of the call policies; `uvmsim explain workload.call_options`";
  for (const NamedCallPolicy& named : policies)
    options_.fields.push_back(section_field(named.name, named.policy->description(),
                                            [policy = named.policy](void*) { return policy->parameters(); }));
  if (!policies.empty())
    section_.fields.push_back(section_field("call_options", options_, [](void* of) { return of; }));
}

}  // namespace uvmsim
