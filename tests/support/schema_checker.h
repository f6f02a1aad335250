// Checks JSON against the part of JSON Schema that configs/schema.json uses; any other keyword throws.
#pragma once

#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace uvmsim::test {

class SchemaChecker {
 public:
  explicit SchemaChecker(nlohmann::json schema) : root_(std::move(schema)) {}

  // The places where `value` breaks the subschema at `pointer`; empty: it is valid.
  std::vector<std::string> faults(const nlohmann::json& value, const std::string& pointer = "") const {
    std::vector<std::string> found;
    check(value, root_.at(nlohmann::json::json_pointer(pointer)), "", found);
    return found;
  }

 private:
  using Json = nlohmann::json;

  void check(const Json& value, const Json& schema, const std::string& at, std::vector<std::string>& found) const {
    for (const auto& [keyword, argument] : schema.items()) {
      if (kAnnotations.contains(keyword)) continue;
      if (keyword == "$ref")
        check(value, root_.at(Json::json_pointer(argument.get<std::string>().substr(1))), at, found);
      else if (keyword == "anyOf")
        check_any(value, argument, at, found);
      else if (!holds(keyword, value, argument))
        found.push_back(at + ": " + keyword);
    }
    if (value.is_object() && schema.contains("properties"))
      for (const auto& [key, member] : value.items()) {
        if (schema.at("properties").contains(key))
          check(member, schema.at("properties").at(key), at + "/" + key, found);
        else if (schema.value("additionalProperties", true) == false)
          found.push_back(at + "/" + key + ": unknown");
      }
    if (value.is_array() && schema.contains("items"))
      for (std::size_t i = 0; i < value.size(); ++i)
        check(value[i], schema.at("items"), at + "/" + std::to_string(i), found);
  }

  void check_any(const Json& value, const Json& schemas, const std::string& at, std::vector<std::string>& found) const {
    for (const Json& schema : schemas) {
      std::vector<std::string> mismatches;
      check(value, schema, at, mismatches);
      if (mismatches.empty()) return;
    }
    found.push_back(at + ": anyOf");
  }

  static bool holds(const std::string& keyword, const Json& value, const Json& argument) {
    if (keyword == "properties" || keyword == "additionalProperties" || keyword == "items") return true;
    if (keyword == "type") return has_type(value, argument);
    if (keyword == "enum") return std::find(argument.begin(), argument.end(), value) != argument.end();
    if (keyword == "minimum") return !value.is_number() || value.get<double>() >= argument.get<double>();
    if (keyword == "maximum") return !value.is_number() || value.get<double>() <= argument.get<double>();
    if (keyword == "pattern")
      return !value.is_string() || std::regex_search(value.get<std::string>(), std::regex(argument.get<std::string>()));
    if (keyword == "required")
      return !value.is_object() || std::all_of(argument.begin(), argument.end(),
                                               [&](const Json& key) { return value.contains(key.get<std::string>()); });
    throw std::logic_error("schema keyword not known to this checker: " + keyword);
  }

  static bool has_type(const Json& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "null") return value.is_null();
    if (type == "number") return value.is_number();
    if (type == "integer") return value.is_number_integer();
    throw std::logic_error("type not known to this checker: " + type);
  }

  static inline const std::set<std::string> kAnnotations = {"$schema", "$defs", "title", "description"};
  Json root_;
};

}  // namespace uvmsim::test
