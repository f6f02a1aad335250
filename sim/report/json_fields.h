// JSON of every struct that names its members (kFields), in both directions.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "metrics/result_fields.h"

namespace uvmsim {

using OrderedJson = nlohmann::ordered_json;

template <class T>
OrderedJson json_of(const T& value) {
  return value;
}
inline OrderedJson json_of(Outcome outcome) { return name_of(outcome); }
template <class T>
OrderedJson json_of(const std::optional<T>& value);
template <class T>
OrderedJson json_of(const std::vector<T>& values);
template <HasFields S>
OrderedJson json_of(const S& object) {
  OrderedJson json = OrderedJson::object();
  for_each_member(object, [&](const auto& field, const auto& member) { json[field.name] = json_of(member); });
  return json;
}
template <class T>
OrderedJson json_of(const std::optional<T>& value) {
  return value ? json_of(*value) : OrderedJson(nullptr);
}
template <class T>
OrderedJson json_of(const std::vector<T>& values) {
  OrderedJson json = OrderedJson::array();
  for (const T& value : values) json.push_back(json_of(value));
  return json;
}

// The inverse of json_of. Throws nlohmann's exceptions when `json` is not what json_of made of a T.
template <class T>
void read_json(const OrderedJson& json, T& value) {
  json.get_to(value);
}
inline void read_json(const OrderedJson& json, Outcome& outcome) { outcome = outcome_named(json.get<std::string>()); }
template <class T>
void read_json(const OrderedJson& json, std::vector<T>& values);
template <HasFields S>
void read_json(const OrderedJson& json, S& object) {
  for_each_member(object, [&](const auto& field, auto& member) { read_json(json.at(field.name), member); });
}
template <class T>
void read_json(const OrderedJson& json, std::vector<T>& values) {
  values.resize(json.size());
  for (std::size_t i = 0; i < values.size(); ++i) read_json(json[i], values[i]);
}

}  // namespace uvmsim
