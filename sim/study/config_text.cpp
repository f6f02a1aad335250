#include "study/config_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_schema.h"
#include "base/registry.h"
#include "loading/data_config.h"
#include "machine/description.h"
#include "study/plan_section.h"
#include "study/transform_section.h"
#include "study/workload_section.h"

namespace uvmsim {
namespace {

using Json = nlohmann::ordered_json;

// The parameters of all plug-ins of one kind. One that several describe differently may be as any of them says.
Json parameters_schema(const PlugInKind& kind) {
  std::map<std::string, Json> variants;
  for (const std::string& name : kind.names())
    for (const FieldInfo& field : kind.make_plug_in(name)->parameters().description->fields) {
      Json& of_name = variants[field.name];
      const Json variant = schema_of(field);
      if (std::ranges::find(of_name, variant) == of_name.end()) of_name.push_back(variant);
    }
  Json properties = Json::object();
  for (auto& [name, schemas] : variants)
    properties[name] = schemas.size() == 1 ? schemas.front() : Json{{"anyOf", schemas}};
  return properties;
}

// An object with the parameters of each plug-in of one kind in a section of its name.
Json sections_schema(const PlugInKind& kind) {
  Json properties = Json::object();
  for (const std::string& name : kind.names())
    properties[name] = schema_of(*kind.make_plug_in(name)->parameters().description);
  return properties;
}

// Puts in the parameters of all plug-ins whose place is the section `name`, or a section of it.
void add_plug_ins(Json& schema, const std::string& name) {
  for (const PlugInKind* kind : kinds()) {
    const KindText& text = kind->text();
    Json& properties = schema["properties"];
    if (text.options == name) properties.update(parameters_schema(*kind));
    if (!text.options.starts_with(name + ".") || text.options.ends_with(".0")) continue;  // of a list: see below
    const std::string place(text.options.substr(name.size() + 1));
    const std::string of = (text.section_each ? "by " : "of the ") + std::string(text.noun);
    properties[place] = schema_of(Description{.doc = "parameters " + of, .fields = {}});
    properties[place]["properties"].update(text.section_each ? sections_schema(*kind) : parameters_schema(*kind));
  }
}

Json section_schema(const std::string& name, const Description& description) {
  Json schema = schema_of(description);
  add_plug_ins(schema, name);
  return schema;
}

Json workload_schema() {
  Json schema = schema_of(describe_workload());
  schema["properties"].update(schema_of(describe_placement())["properties"]);
  add_plug_ins(schema, "workload");
  Json transform = schema_of(describe_transform_name());
  transform["properties"].update(parameters_schema(transforms()));
  schema["properties"]["transforms"] = {{"description", "what happens to the trace before it runs, in order"},
                                        {"type", "array"},
                                        {"items", std::move(transform)}};
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
  properties["driver"] = section_schema("driver", describe_driver());
  properties["workload"] = workload_schema();
  properties["run"] = schema_of(describe_run());
  properties["plan"] = section_schema("plan", describe_plan_section());
  properties["data"] = section_schema("data", describe_data());
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
