#include "study/policy_file.h"

#include <algorithm>
#include <array>

#include "study/validation/object_reader.h"

namespace uvmsim {
namespace {

// What stands behind the "=" of a setting; an error for a list or an object.
std::string setting_text(const JsonValue& value, const std::string& place, std::vector<InputError>& errors) {
  using Type = JsonValue::Type;
  if (value.type == Type::Boolean) return value.boolean ? "true" : "false";
  if (value.type == Type::String || value.type == Type::Integer || value.type == Type::Number) return value.text;
  errors.push_back({place, "expected a text, a number, true or false"});
  return "";
}

bool may_set(const std::string& key) {
  static const std::array<std::string, 4> kKeys = {"workload.calls", "workload.allocator", "workload.memory",
                                                   "workload.prefetch_on_alloc"};
  static const std::array<std::string, 3> kSections = {"driver.", "workload.call_options.",
                                                       "workload.allocator_options."};
  return std::ranges::find(kKeys, key) != kKeys.end() ||
         std::ranges::any_of(kSections, [&](const std::string& section) { return key.starts_with(section); });
}

}  // namespace

PolicyFile read_policy(const std::string& name, const std::string& text, const std::string& file,
                       std::vector<InputError>& errors) {
  PolicyFile policy{.name = name, .description = {}, .on_hardware = {}, .settings = {}};
  const JsonValue document = parse_json(text, file, errors);
  ObjectReader in(document, "", errors);
  policy.description = in.required_text("description");
  policy.on_hardware = in.required_text("on_hardware");
  if (const JsonValue* set = in.find("set")) {
    if (set->type != JsonValue::Type::Object) in.error("set", "expected an object of dotted keys and values");
    for (const JsonMember& member : set->members) {
      const std::string place = place_of(pointer_to("/set", member.key), member.value.origin);
      if (!may_set(member.key))
        errors.push_back({place,
                          "a policy sets driver.*, workload.calls, workload.call_options.*, workload.allocator, "
                          "workload.allocator_options.*, workload.memory or workload.prefetch_on_alloc"});
      policy.settings.push_back(member.key + "=" + setting_text(member.value, place, errors));
    }
  } else {
    in.error("set", "missing; expected an object of dotted keys and values, which may be empty");
  }
  in.refuse_the_rest();
  return policy;
}

}  // namespace uvmsim
