#include "base/json_schema.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/field_text.h"
#include "base/json_reader.h"
#include "base/registry.h"

namespace uvmsim {
namespace {

using Kind = FieldInfo::Kind;
using Json = nlohmann::ordered_json;

Json reference(const std::string& name) { return {{"$ref", "#/$defs/" + name}}; }

Json number(const FieldInfo& field, const std::string& type) {
  Json schema = {{"type", type}};
  if (field.min) schema["minimum"] = *field.min;
  if (field.max) schema["maximum"] = *field.max;
  return schema;
}

// A leaf may be the bare value, the value with its provenance, or null, which deletes what is inherited.
Json leaf(const Json& value) {
  const Json annotated = {{"type", "object"},
                          {"properties",
                           {{"value", value},
                            {"status", reference("status")},
                            {"source", {{"type", "string"}}},
                            {"origin", {{"type", "string"}}}}},
                          {"required", {"value"}},
                          {"additionalProperties", false}};
  return {{"anyOf", {value, annotated, {{"type", "null"}}}}};
}

Json text_leaf(const FieldInfo& field) {
  std::vector<std::string> values = field.choices;
  if (const PlugInKind* kind = find_kind(field.plug_in)) std::ranges::copy(kind->names(), std::back_inserter(values));
  return values.empty() ? reference("text") : leaf({{"enum", values}});
}

Json leaf_of(const FieldInfo& field) {
  switch (field.kind) {
    case Kind::Integer32:
    case Kind::Integer64:
      return leaf(number(field, "integer"));
    case Kind::Number:
      return leaf(number(field, "number"));
    case Kind::Flag:
      return reference("flag");
    case Kind::Text:
      return text_leaf(field);
    case Kind::ByteCount:
      return reference("bytes");
    case Kind::TimeSpan:
      return reference("time");
    case Kind::Bandwidth:
      return reference("bandwidth");
    case Kind::NumberList:
      return leaf({{"type", "array"}, {"items", number(field, "number")}});
    case Kind::IntegerList:
      return leaf({{"type", "array"}, {"items", number(field, "integer")}});
    case Kind::Section:
    case Kind::SectionList:
      break;
  }
  UVMSIM_CHECK(false, "a section is not a leaf");
  return {};
}

Json text_like(const std::string& pattern) { return leaf({{"type", "string"}, {"pattern", pattern}}); }

}  // namespace

Json schema_of(const FieldInfo& field) {
  if (field.kind == Kind::Section) return schema_of(*field.section);
  if (!field.alternatives.empty()) {
    Json any = Json::array();
    for (const Alternative& a : field.alternatives) {
      Json one = schema_of(*a.section);
      one["properties"][field.tag] = {{"const", a.name}};
      any.push_back(std::move(one));
    }
    return {{"description", field.doc}, {"type", "array"}, {"items", {{"anyOf", std::move(any)}}}};
  }
  if (field.kind == Kind::SectionList)
    return {{"description", field.doc}, {"type", "array"}, {"items", schema_of(*field.section)}};
  const std::string range = range_text(field);
  Json schema = {{"description", field.doc + (range.empty() ? "" : " (" + range + ")")}};
  schema.update(leaf_of(field));
  return schema;
}

Json schema_of(const Description& description) {
  Json properties = {{"extends", reference("extends")}};
  for (const FieldInfo& field : description.fields) properties[field.name] = schema_of(field);
  return {{"description", description.doc},
          {"type", "object"},
          {"properties", std::move(properties)},
          {"additionalProperties", false}};
}

Json schema_definitions() {
  const std::string decimal = R"(^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)? *)";
  const std::string sizes = "([KMGT]i?)?B";
  const Json file = {{"type", "string"}};
  return {{"bytes", text_like(decimal + sizes + "$")},
          {"bandwidth", text_like(decimal + sizes + "/s$")},
          {"time", text_like(decimal + "([pnum]?s|min)$")},
          {"flag", leaf({{"type", "boolean"}})},
          {"text", leaf({{"type", "string"}})},
          {"status", {{"enum", kStatuses}}},
          {"extends",
           {{"description", "a file, or a list of files, whose keys this object inherits; relative to this file"},
            {"anyOf", {file, {{"type", "array"}, {"items", file}}}}}}};
}

}  // namespace uvmsim
