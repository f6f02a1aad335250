#include "study/plan_section.h"

namespace uvmsim {
namespace {

std::string text_at(const JsonValue& value, const std::string& key, const std::string& otherwise) {
  const JsonValue* member = value.find(key);
  if (member != nullptr && is_annotated(*member)) member = member->find("value");
  return member != nullptr && member->type == JsonValue::Type::String ? member->text : otherwise;
}

// The error that `name`, at `key` of the section, is not in `registry`.
template <class R>
InputError unknown(const R& registry, const std::string& kind, const JsonValue& section, const std::string& pointer,
                   const std::string& key, const std::string& name) {
  const JsonValue* member = section.find(key);
  const std::string near = nearest(name, registry.names());
  return {place_of(pointer_to(pointer, key), member == nullptr ? section.origin : member->origin),
          (name.empty() ? "missing; expected a " + kind : "no " + kind + " is named \"" + name + "\"") +
              (near.empty() ? "; see `uvmsim list " + kind + "`" : "; did you mean \"" + near + "\"?")};
}

}  // namespace

const Description& describe_plan_section() {
  static const Description d =
      Describe<PlanConfig>("what happens to tensors that no kernel uses")
          .text("planner", &PlanConfig::planner, "a name from `uvmsim list planner`; its parameters are keys beside it")
          .text("coordinator", &PlanConfig::coordinator,
                "a name from `uvmsim list coordinator`: when copies of GPUs that share links may start")
          .build();
  return d;
}

PlanConfig read_plan_section(const JsonValue* value, const std::string& pointer, std::vector<InputError>& errors,
                             ResolvedConfig& resolved) {
  PlanConfig config;
  if (value == nullptr) return config;
  const std::string planner = text_at(*value, "planner", "");
  const std::string coordinator = text_at(*value, "coordinator", config.coordinator);
  const auto* plans = planners().find(planner);
  const auto* coordinates = coordinators().find(coordinator);
  if (plans == nullptr) errors.push_back(unknown(planners(), "planner", *value, pointer, "planner", planner));
  if (coordinates == nullptr)
    errors.push_back(unknown(coordinators(), "coordinator", *value, pointer, "coordinator", coordinator));
  if (plans == nullptr || coordinates == nullptr) return config;  // which keys are their parameters is not known

  config.parameters = plans->make();
  config.coordinator_options = coordinates->make();
  FieldInfo options;
  options.name = "coordinator_options";
  options.kind = FieldInfo::Kind::Section;
  options.section = &config.coordinator_options->description();
  options.doc = options.section->doc;
  options.locate = [](void* kind) { return static_cast<CoordinatorKind*>(kind)->parameters(); };
  const Description of_coordinator{.doc = options.doc, .fields = {options}};
  read_described(value, pointer,
                 std::vector<DescribedObject>{{&describe_plan_section(), &config},
                                              {&config.parameters->description(), config.parameters->parameters()},
                                              {&of_coordinator, config.coordinator_options.get()}},
                 errors, resolved);
  return config;
}

}  // namespace uvmsim
