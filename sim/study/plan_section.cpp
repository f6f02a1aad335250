#include "study/plan_section.h"

namespace uvmsim {

const Description& describe_plan_section() {
  static const Description d =
      Describe<PlanConfig>("what happens to tensors that no kernel uses")
          .text("planner", &PlanConfig::planner, "a name from `uvmsim list planner`; its parameters are keys beside it")
          .build();
  return d;
}

PlanConfig read_plan_section(const JsonValue* value, const std::string& pointer, std::vector<Fault>& faults,
                             ResolvedConfig& resolved) {
  PlanConfig config;
  if (value == nullptr) return config;
  const JsonValue* name = value->find("planner");
  if (name != nullptr && is_annotated(*name)) name = name->find("value");
  const std::string planner = name != nullptr && name->type == JsonValue::Type::String ? name->text : "";
  std::vector<DescribedObject> parts = {{&describe_plan_section(), &config}};
  if (const auto* entry = planners().find(planner)) {
    config.parameters = entry->make();
    parts.push_back({&config.parameters->description(), config.parameters->parameters()});
  } else {
    const std::string near = nearest(planner, planners().names());
    faults.push_back({place_of(pointer_to(pointer, "planner"), name == nullptr ? value->origin : name->origin),
                      (planner.empty() ? "missing; expected a planner" : "no planner is named \"" + planner + "\"") +
                          (near.empty() ? "; see `uvmsim list planner`" : "; did you mean \"" + near + "\"?")});
    return config;  // which keys are its parameters is not known
  }
  read_described(value, pointer, parts, faults, resolved);
  return config;
}

}  // namespace uvmsim
