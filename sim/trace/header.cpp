#include "trace/header.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "trace/error_list.h"
#include "trace/format.h"
#include "trace/pattern.h"

namespace uvmsim::trace {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void fail(const std::string& key, const std::string& expected, const Json& found) {
  std::string text = found.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > 40) text = text.substr(0, 40) + "...";
  throw ParseError{"header key \"" + key + "\": expected " + expected + ", found " + text};
}

void read(const Json& value, const std::string& key, std::string& into) {
  if (!value.is_string()) fail(key, "a string", value);
  into = value.get<std::string>();
}

// A count or an amount; some writers put whole numbers as 3.3e10.
void read(const Json& value, const std::string& key, double& into) {
  if (!value.is_number() || !(value.get<double>() >= 0) || !std::isfinite(value.get<double>()))
    fail(key, "a number, 0 or more", value);
  into = value.get<double>();
}

std::int64_t read_integer(const Json& value, const std::string& key, Limits limits) {
  double number = -1;
  if (value.is_number()) read(value, key, number);
  if (number < static_cast<double>(limits.low) || number > static_cast<double>(limits.high) ||
      number != std::floor(number))
    fail(key, "an integer " + std::to_string(limits.low) + ".." + std::to_string(limits.high), value);
  return value.is_number_float() ? static_cast<std::int64_t>(number) : value.get<std::int64_t>();
}

const Json& list(const Json& value, const std::string& key) {
  if (!value.is_array()) fail(key, "a list", value);
  return value;
}

DeviceInfo parse_device(const Json& value, const std::function<void(std::string_view)>& ignore) {
  DeviceInfo device;
  if (!value.is_object()) fail("dev", "objects in the list", value);
  for (const auto& [key, member] : value.items()) {
    if (key == "name")
      read(member, "dev.name", device.name);
    else if (key == "mem")
      device.memory_bytes = read_integer(member, "dev.mem", kSizes);
    else if (key == "fp32")
      read(member, "dev.fp32", device.fp32_flops);
    else if (key == "bw")
      read(member, "dev.bw", device.bandwidth);
    else
      ignore("dev." + key);
  }
  return device;
}

// The list is for readers of the file; a file that numbers the known patterns otherwise is refused.
void check_patterns(const Json& names) {
  for (std::size_t i = 0; i < names.size() && i <= static_cast<std::size_t>(last_pattern()); ++i)
    if (const std::string& name = pattern_name(Pattern(i)); !name.empty() && names[i] != name)
      fail("pats", "\"" + name + "\" as pattern " + std::to_string(i), names[i]);
}

Json number(double value) {
  if (value == std::floor(value) && std::abs(value) < 9e15) return static_cast<std::int64_t>(value);
  return value;
}

}  // namespace

Header parse_header(std::string_view text, const std::function<void(std::string_view)>& ignore) {
  const Json object = Json::parse(text.begin(), text.end(), nullptr, false);
  if (object.is_discarded()) throw ParseError{"the header is not valid JSON in UTF-8"};
  if (!object.is_object()) throw ParseError{"expected an object as the header"};
  if (!object.contains("v")) throw ParseError{"header key \"v\": expected the version, found nothing"};
  Header header;
  header.version = static_cast<int>(read_integer(object["v"], "v", {0, kMostInt32}));
  if (header.version != 1) fail("v", "version 1 of the format", object["v"]);
  for (const auto& [key, value] : object.items()) {
    if (key == "v") continue;
    if (key == "gen") {
      read(value, key, header.generator);
    } else if (key == "name") {
      read(value, key, header.name);
    } else if (key == "t") {
      if (value != "ns") fail(key, "\"ns\", the only unit of time", value);
    } else if (key == "provenance") {
      read(value, key, header.provenance);
    } else if (key == "durations") {
      read(value, key, header.durations);
    } else if (key == "durations_status") {
      read(value, key, header.durations_status);
      if (std::ranges::find(kDurationStatuses, header.durations_status) == kDurationStatuses.end())
        fail(key, "measured, scaled, fitted or assumed", value);
    } else if (key == "operands_status") {
      read(value, key, header.operands_status);
      if (std::ranges::find(kOperandStatuses, header.operands_status) == kOperandStatuses.end())
        fail(key, "exact, superset, lower_bound, heuristic or none", value);
    } else if (key == "unknowns") {
      for (const Json& unknown : list(value, key)) read(unknown, key, header.unknowns.emplace_back());
    } else if (key == "sample_unit") {
      read(value, key, header.sample_unit);
    } else if (key == "samples") {
      read(value, key, header.samples);
    } else if (key == "dev") {
      for (const Json& device : list(value, key)) header.devices.push_back(parse_device(device, ignore));
      if (header.devices.size() > 128) fail(key, "at most 128 devices", value.size());
    } else if (key == "kinds") {
      for (const Json& kind : list(value, key)) read(kind, key, header.kinds.emplace_back());
      if (header.kinds.size() > 256) fail(key, "at most 256 kinds", value.size());
    } else if (key == "pats") {
      check_patterns(list(value, key));
    } else if (key == "host_op_ns") {
      header.host_op_ns = read_integer(value, key, kTimes);
    } else {
      ignore(key);
    }
  }
  return header;
}

std::string format_header(const Header& header) {
  Json object;
  object["v"] = header.version;
  object["gen"] = header.generator;
  object["name"] = header.name;
  object["t"] = "ns";
  if (!header.provenance.empty()) object["provenance"] = header.provenance;
  if (!header.durations.empty()) object["durations"] = header.durations;
  if (!header.durations_status.empty()) object["durations_status"] = header.durations_status;
  if (!header.operands_status.empty()) object["operands_status"] = header.operands_status;
  if (!header.unknowns.empty()) object["unknowns"] = header.unknowns;
  if (!header.sample_unit.empty()) object["sample_unit"] = header.sample_unit;
  if (header.samples != 0) object["samples"] = number(header.samples);
  object["dev"] = Json::array();
  for (const DeviceInfo& device : header.devices)
    object["dev"].push_back({{"name", device.name},
                             {"mem", device.memory_bytes},
                             {"fp32", number(device.fp32_flops)},
                             {"bw", number(device.bandwidth)}});
  object["kinds"] = header.kinds;
  object["pats"] = Json::array();
  for (int i = 0; i <= static_cast<int>(last_pattern()); ++i) object["pats"].push_back(pattern_name(Pattern(i)));
  object["host_op_ns"] = header.host_op_ns;
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string format_text(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace uvmsim::trace
