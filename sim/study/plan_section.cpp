#include "study/plan_section.h"

#include "base/number_text.h"
#include "plan/codec.h"
#include "study/plug_in_section.h"

namespace uvmsim {

const Description& describe_plan_section() {
  static const Description d =
      Describe<PlanConfig>("what happens to tensors that no kernel uses")
          .plug_in("planner", &PlanConfig::planner, "planner",
                   "a name from `uvmsim list planner`; its parameters are keys next to it")
          .text("device_memory", &PlanConfig::device_memory,
                "how explicit memory is handed to tensors. counted: any free bytes will do; placed: workload.allocator "
                "places them, so that fragmentation counts",
                {"counted", "placed"})
          .plug_in(
              "codec", &PlanConfig::codec, "codec",
              "encodes what the planner moves, where it takes the tensor and makes it smaller; empty: nothing does",
              {""})
          .number("ratio", &PlanConfig::ratio,
                  "by how much tensors shrink under codecs that know only that (ratio, deepsz, ...); 0: the codec's "
                  "own ratio",
                  {0, {}})
          .number("sparsity", &PlanConfig::sparsity,
                  "share of zeros in every tensor that is encoded, 0 to 1; -1: as the trace says, else outputs of ReLU "
                  "by their depth, 50 to 74 %, and others none (sim/plan/sparsity.h)")
          .plug_in("coordinator", &PlanConfig::coordinator, "coordinator",
                   "a name from `uvmsim list coordinator`: when copies of GPUs that share links may start")
          .build();
  return d;
}

PlanConfig read_plan_section(const JsonValue* value, const std::string& pointer, std::vector<InputError>& errors,
                             ResolvedConfig& resolved) {
  PlanConfig config;
  if (value == nullptr) return config;
  config.parameters = named_plug_in<Planner>(value, "planner");
  config.coordinator_options = named_plug_in<Coordinator>(value, "coordinator", config.coordinator);
  if (config.parameters == nullptr) {  // which keys are its parameters is not known
    errors.push_back(planners().unknown(place_of_key(value, pointer, "planner"), text_at(value, "planner")));
    return config;
  }
  OptionsSections sections;
  sections.add("coordinator_options", config.coordinator_options.get());
  const std::vector<DescribedObject> parts = {
      {&describe_plan_section(), &config}, config.parameters->parameters(), sections.described()};
  read_described(sections.known(value), pointer, parts, errors, resolved);
  if (const auto* codec = codecs().find(config.codec); codec != nullptr && !codec->make()->for_any_reader())
    errors.push_back({place_of_key(value, pointer, "codec"),
                      config.codec + " keeps what some pairs of layers ask for, and not the tensor: a planner has to " +
                          "choose it, as gist_like does"});
  if ((config.sparsity < 0 || config.sparsity > 1) && config.sparsity != -1)
    errors.push_back({place_of_key(value, pointer, "sparsity"),
                      number_text(config.sparsity) + " is no share of zeros: expected 0 to 1, or -1"});
  return config;
}

}  // namespace uvmsim
