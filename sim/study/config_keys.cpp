#include "study/config_keys.h"

#include "base/field_text.h"
#include "base/json_reader.h"
#include "base/registry.h"
#include "base/user_error.h"
#include "loading/data_config.h"
#include "machine/description.h"
#include "study/transform_section.h"
#include "study/workload_section.h"

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
  // The parameters of all plug-ins whose place is `section` or below it.
  void plug_ins(const std::string& section) {
    for (const PlugInKind* kind : kinds()) {
      const std::string place(kind->text().options);
      if (place != section && !place.starts_with(section + ".")) continue;
      for (const std::string& name : kind->names()) {
        const std::unique_ptr<PlugIn> plug_in = kind->make_plug_in(name);
        const auto [description, object] = plug_in->parameters();
        if (kind->text().section_each)
          this->section(*description, object, place + "." + name);
        else
          this->section(*description, object, place, name);
      }
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
  walk.plug_ins("driver");
  WorkloadSection workload;
  walk.section(describe_workload(), &workload, "workload");
  PlacementOptions placement;
  walk.section(describe_placement(), &placement, "workload");
  TransformName transform;
  walk.section(describe_transform_name(), &transform, "workload.transforms.0");
  walk.plug_ins("workload");
  RunConfig run;
  walk.section(describe_run(), &run, "run");
  PlanConfig plan;
  walk.section(describe_plan_section(), &plan, "plan");
  walk.plug_ins("plan");
  DataConfig data;
  walk.section(describe_data(), &data, "data");
  return walk.take();
}

std::string key_named_like(const std::string& name) {
  constexpr std::size_t kMuch = 5;  // letters: of all names there are, some short one is always near
  const std::vector<ConfigKey> keys = config_keys();
  std::vector<std::string> names;
  for (const ConfigKey& key : keys) names.push_back(key.field.name);
  const std::string near = nearest(name, names);
  const std::string& less = name.size() < near.size() ? name : near;
  const std::string& more = name.size() < near.size() ? near : name;
  const bool much = less.size() >= kMuch && more.find(less) != std::string::npos;
  if (near.empty() || (more != less && !much && !more.ends_with("_" + less))) return "";
  std::string shortest;
  for (const ConfigKey& key : keys)
    if (key.field.name == near && (shortest.empty() || key.key.size() < shortest.size())) shortest = key.key;
  return shortest;
}

}  // namespace uvmsim
