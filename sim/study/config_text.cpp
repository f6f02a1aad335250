#include "study/config_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_schema.h"
#include "machine/description.h"
#include "study/plan_section.h"
#include "study/workload_section.h"
#include "uvm/eviction/eviction_policy.h"
#include "uvm/prefetch/prefetch_policy.h"

namespace uvmsim {
namespace {

using Json = nlohmann::ordered_json;

// The parameters of all plug-ins of one kind. One that several describe differently may be as any of them says.
template <class R>
Json parameters_schema(const R& registry) {
  std::map<std::string, Json> variants;
  for (const auto& [name, entry] : registry.entries())
    for (const FieldInfo& field : entry.make()->description().fields) {
      Json& of_name = variants[field.name];
      const Json variant = schema_of(field);
      if (std::ranges::find(of_name, variant) == of_name.end()) of_name.push_back(variant);
    }
  Json properties = Json::object();
  for (auto& [name, schemas] : variants)
    properties[name] = schemas.size() == 1 ? schemas.front() : Json{{"anyOf", schemas}};
  return properties;
}

// The workload's properties: the common ones, and the parameters of every generator and allocator.
Json workload_schema() {
  Json schema = schema_of(describe_workload());
  Json& properties = schema["properties"];
  properties.update(schema_of(describe_placement())["properties"]);
  properties["generator"] = {{"description", properties["generator"]["description"]}, {"enum", generators().names()}};
  Json options = schema_of(Description{.doc = "parameters of the allocator", .fields = {}});
  options["properties"].update(parameters_schema(allocators()));
  properties["allocator_options"] = std::move(options);
  Json calls = schema_of(Description{.doc = "parameters of the call policies", .fields = {}});
  for (const auto& [name, entry] : call_policies().entries())
    calls["properties"][name] = schema_of(entry.make()->description());
  properties["call_options"] = std::move(calls);
  properties.update(parameters_schema(generators()));
  return schema;
}

// The driver's properties: its module parameters, and the parameters of every policy.
Json driver_schema() {
  Json schema = schema_of(describe_driver());
  Json prefetch = schema_of(Description{.doc = "parameters of the prefetch policy", .fields = {}});
  prefetch["properties"].update(parameters_schema(prefetch_policies()));
  schema["properties"]["prefetch_options"] = std::move(prefetch);
  Json eviction = schema_of(Description{.doc = "parameters of the eviction policy", .fields = {}});
  eviction["properties"].update(parameters_schema(eviction_policies()));
  schema["properties"]["eviction_options"] = std::move(eviction);
  return schema;
}

// Planners that have a parameter of the same name mean the same by it.
Json plan_schema() {
  Json schema = schema_of(describe_plan_section());
  for (const auto& [name, entry] : planners().entries())
    for (const FieldInfo& field : entry.make()->description().fields)
      schema["properties"][field.name] = schema_of(field);
  Json options = schema_of(Description{.doc = "parameters of the coordinator", .fields = {}});
  options["properties"].update(parameters_schema(coordinators()));
  schema["properties"]["coordinator_options"] = std::move(options);
  return schema;
}

}  // namespace

std::string resolved_text(const ResolvedConfig& resolved) {
  std::string text;
  for (const ResolvedValue& value : resolved) {
    std::string key = value.pointer.substr(1);
    std::ranges::replace(key, '/', '.');
    text += key + " = " + value.json + "  # " + (value.status.empty() ? "" : value.status + ", ") + value.origin +
            (value.source.empty() ? "" : ": " + value.source) + "\n";
  }
  return text;
}

std::string config_schema() {
  Json properties = {{"extends", {{"$ref", "#/$defs/extends"}}}};
  for (const char* text : {"$schema", "name", "description"}) properties[text] = {{"type", "string"}};
  properties["machine"] = schema_of(describe_machine());
  properties["driver"] = driver_schema();
  properties["workload"] = workload_schema();
  properties["run"] = schema_of(describe_run());
  properties["plan"] = plan_schema();
  properties["sweep"] = {{"description", "axes of `uvmsim sweep`, as behind its --sweep; a run does not look at them"},
                         {"type", "array"},
                         {"items", {{"type", "string"}}}};
  const Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                       {"title", "uvmsim experiment"},
                       {"type", "object"},
                       {"properties", std::move(properties)},
                       {"additionalProperties", false},
                       {"$defs", schema_definitions()}};
  return schema.dump(1) + "\n";
}

}  // namespace uvmsim
