#include "study/config_keys.h"

#include "base/field_text.h"
#include "base/json_reader.h"
#include "machine/description.h"
#include "study/workload_section.h"
#include "uvm/eviction/eviction_policy.h"
#include "uvm/prefetch/prefetch_policy.h"

namespace uvmsim {
namespace {

class Walk {
 public:
  void section(const Description& description, void* defaults, const std::string& prefix,
               const std::string& plug_in = "") {
    for (const FieldInfo& field : description.fields) {
      const std::string key = prefix + "." + field.name;
      if (field.kind == FieldInfo::Kind::Section)
        section(*field.section, field.locate(defaults), key, plug_in);
      else if (field.kind == FieldInfo::Kind::SectionList)
        section(*field.section, field.append(defaults), key + ".0", plug_in);
      else
        keys_.push_back({key, plug_in, field, default_of(field, defaults)});
    }
  }
  std::vector<ConfigKey> take() { return std::move(keys_); }

 private:
  static std::string default_of(const FieldInfo& field, const void* object) {
    return has_valid_default(field, object) ? value_json(field, object) : "";
  }

  std::vector<ConfigKey> keys_;
};

}  // namespace

std::vector<ConfigKey> config_keys() {
  Walk walk;
  MachineSection machine;
  walk.section(describe_machine(), &machine, "machine");
  DriverConfig driver;
  walk.section(describe_driver(), &driver, "driver");
  const auto policies = [&walk](const auto& registry, const std::string& section) {
    for (const auto& [name, entry] : registry.entries()) {
      const auto policy = entry.make();
      walk.section(policy->description(), policy->parameters(), section, name);
    }
  };
  policies(prefetch_policies(), "driver.prefetch_options");
  policies(eviction_policies(), "driver.eviction_options");
  WorkloadSection workload;
  walk.section(describe_workload(), &workload, "workload");
  PlacementOptions placement;
  walk.section(describe_placement(), &placement, "workload");
  for (const auto& [name, entry] : allocators().entries()) {
    const std::unique_ptr<AllocatorKind> allocator = entry.make();
    walk.section(allocator->description(), allocator->parameters(), "workload.allocator_options", name);
  }
  for (const auto& [name, entry] : call_policies().entries()) {
    const std::unique_ptr<CallPolicy> policy = entry.make();
    walk.section(policy->description(), policy->parameters(), "workload.call_options." + name);
  }
  for (const auto& [name, entry] : generators().entries()) {
    const std::unique_ptr<Generator> generator = entry.make();
    walk.section(generator->description(), generator->parameters(), "workload", name);
  }
  RunConfig run;
  walk.section(describe_run(), &run, "run");
  PlanConfig plan;
  walk.section(describe_plan_section(), &plan, "plan");
  for (const auto& [name, entry] : planners().entries()) {
    const std::unique_ptr<Planner> planner = entry.make();
    walk.section(planner->description(), planner->parameters(), "plan", name);
  }
  policies(coordinators(), "plan.coordinator_options");
  return walk.take();
}

}  // namespace uvmsim
