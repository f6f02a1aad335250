#include <cstdio>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "trace/info.h"

namespace uvmsim::trace {
namespace {

using Json = nlohmann::ordered_json;

// What kRecordTags stand for.
constexpr std::array<std::string_view, kRecordTags.size()> kRecordNames = {
    "allocations", "frees",       "segment allocations", "segment frees",
    "kernels",     "copies",      "prefetches",          "discards",
    "advices",     "collectives", "event records",       "event waits",
    "host waits",  "host steps",  "iterations",          "phases",
    "layers"};

// Iterations shown as text; JSON has all.
constexpr std::size_t kShownIterations = 20;

// Three significant digits in the first of `units`, each 1000 of the one before, that keeps them below 1000.
std::string scaled(double value, std::initializer_list<const char*> units) {
  auto unit = units.begin();
  const char* form = "%.0f";
  for (; value >= 999.5 && unit + 1 != units.end(); ++unit) {
    value /= 1000;
    form = value >= 99.95 ? "%.0f" : value >= 9.995 ? "%.1f" : "%.2f";
  }
  char digits[32];
  std::snprintf(digits, sizeof digits, form, value);
  return std::string(digits) + " " + *unit;
}

std::string bytes(double value) { return scaled(value, {"B", "kB", "MB", "GB", "TB", "PB", "EB"}); }
std::string bytes(std::int64_t value) { return bytes(static_cast<double>(value)); }
std::string time(std::int64_t ns) { return scaled(static_cast<double>(ns), {"ns", "us", "ms", "s"}); }
std::string operations(double value) { return scaled(value, {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"}); }

// A line of a table: the first cell to the left, the others to the right.
void add_row(std::string& text, std::initializer_list<std::string> cells) {
  bool first = true;
  for (const std::string& cell : cells) {
    constexpr std::size_t kWidth = 14;
    const std::string space(cell.size() < kWidth ? kWidth - cell.size() : 1, ' ');
    text += first ? cell + space : space + cell;
    first = false;
  }
  text += '\n';
}

void add_line(std::string& text, const std::string& label, const std::string& value) {
  if (!value.empty()) add_row(text, {label}), text.back() = ' ', text += value + "\n";
}

std::string confidence(const std::string& status) {
  if (status == "measured") return "1 of 4: durations were measured in the captured run";
  if (status == "scaled") return "2 of 4: durations are scaled to a measured iteration or from a measured GPU";
  if (status == "fitted") return "3 of 4: durations come from a model fitted to measurements";
  if (status == "assumed") return "4 of 4: durations come from an assumed model";
  return "not stated";
}

// "" when the header does not say.
std::string operands(const std::string& status) {
  if (status == "exact") return "exact: recorded for each kernel";
  if (status == "superset") return "superset: all that a kernel could reach by its arguments";
  if (status == "lower_bound") return "lower bound: what kernels were seen to touch";
  if (status == "heuristic") return "heuristic: matched by size and time";
  if (status == "none") return "none: kernels take time and touch nothing";
  return "";
}

void add_header(std::string& text, const Header& header) {
  add_line(text, "name", header.name);
  add_line(text, "generator", header.generator);
  add_line(text, "provenance", header.provenance.empty() ? "not stated" : header.provenance);
  add_line(text, "durations", header.durations.empty() ? "not stated" : header.durations);
  add_line(text, "confidence", confidence(header.durations_status));
  add_line(text, "operands", operands(header.operands_status));
  for (const std::string& unknown : header.unknowns) add_line(text, "unknown", unknown);
  if (header.samples > 0) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%g", header.samples);
    add_line(text, "samples", std::string(digits) + " " + header.sample_unit + " per iteration and device");
  }
  for (std::size_t i = 0; i < header.devices.size(); ++i) {
    const DeviceInfo& device = header.devices[i];
    add_line(text, "device " + std::to_string(i),
             device.name + ", " + bytes(device.memory_bytes) + ", " + operations(device.fp32_flops) + "/s, " +
                 bytes(device.bandwidth) + "/s");
  }
}

}  // namespace

std::string with_counts(const std::map<std::string, std::int64_t>& names) {
  std::string all;
  for (const auto& [name, count] : names) all += (all.empty() ? "" : ", ") + name + " (" + std::to_string(count) + ")";
  return all;
}

std::string to_text(const TraceInfo& info) {
  std::string text;
  add_header(text, info.header);
  std::string records;
  for (std::size_t i = 0; i < info.records.size(); ++i)
    if (info.records[i] > 0) records += ", " + std::to_string(info.records[i]) + " " + std::string(kRecordNames[i]);
  if (!records.empty()) records[0] = ':';
  add_line(text, "records", std::to_string(info.record_count()) + records);
  std::string accesses;
  for (const auto& [shape, count] : info.accesses)
    accesses += (accesses.empty() ? "" : ", ") + std::to_string(count) + " " + shape;
  add_line(text, "accesses", accesses);
  add_line(text, "in core", time(info.in_core_ns) + " of kernels, " + operations(info.flops));
  add_line(text, "memory",
           bytes(info.peak_live_bytes) + " alive at the peak, " + bytes(info.end_live_bytes) + " never freed, " +
               std::to_string(info.tensors) + " tensors");
  add_line(text, "unused options", with_counts(info.unused_options));
  add_line(text, "ignored tags", with_counts(info.ignored_tags));
  add_line(text, "ignored keys", with_counts(info.ignored_keys));

  text += '\n';
  add_row(text, {"kind", "tensors", "allocated", "at the peak"});
  for (const KindInfo& kind : info.kinds)
    if (kind.tensors > 0)
      add_row(text, {kind.name, std::to_string(kind.tensors), bytes(kind.allocated_bytes), bytes(kind.peak_bytes)});
  text += '\n';
  add_row(text, {"iteration", "kernels", "in core", "touched", "alive"});
  for (std::size_t i = 0; i < info.iterations.size() && i < kShownIterations; ++i) {
    const IterationInfo& it = info.iterations[i];
    add_row(text, {it.index < 0 ? "set-up" : std::to_string(it.index), std::to_string(it.kernels), time(it.in_core_ns),
                   bytes(it.touched_bytes), bytes(it.peak_live_bytes)});
  }
  if (info.iterations.size() > kShownIterations)
    text += "and " + std::to_string(info.iterations.size() - kShownIterations) + " more\n";
  return text;
}

std::string to_json(const TraceInfo& info) {
  Json object;
  object["generator"] = info.header.generator;
  object["name"] = info.header.name;
  object["provenance"] = info.header.provenance;
  object["durations"] = info.header.durations;
  object["durations_status"] = info.header.durations_status;
  object["operands_status"] = info.header.operands_status;
  object["unknowns"] = info.header.unknowns;
  object["sample_unit"] = info.header.sample_unit;
  object["samples"] = info.header.samples;
  object["devices"] = Json::array();
  for (const DeviceInfo& device : info.header.devices)
    object["devices"].push_back({{"name", device.name},
                                 {"memory_bytes", device.memory_bytes},
                                 {"fp32_flops", device.fp32_flops},
                                 {"bandwidth", device.bandwidth}});
  object["host_op_ns"] = info.header.host_op_ns;
  object["record_count"] = info.record_count();
  for (std::size_t i = 0; i < info.records.size(); ++i)
    object["records"][std::string(kRecordTags[i])] = info.records[i];
  object["strings"] = info.strings;
  object["tensors"] = info.tensors;
  object["peak_live_bytes"] = info.peak_live_bytes;
  object["end_live_bytes"] = info.end_live_bytes;
  object["in_core_ns"] = info.in_core_ns;
  object["flops"] = info.flops;
  object["kinds"] = Json::array();
  for (const KindInfo& kind : info.kinds)
    object["kinds"].push_back({{"name", kind.name},
                               {"tensors", kind.tensors},
                               {"allocated_bytes", kind.allocated_bytes},
                               {"peak_bytes", kind.peak_bytes}});
  object["iterations"] = Json::array();
  for (const IterationInfo& it : info.iterations)
    object["iterations"].push_back({{"index", it.index},
                                    {"kernels", it.kernels},
                                    {"in_core_ns", it.in_core_ns},
                                    {"touched_bytes", it.touched_bytes},
                                    {"peak_live_bytes", it.peak_live_bytes}});
  object["accesses"] = info.accesses;
  object["unused_options"] = info.unused_options;
  object["ignored_tags"] = info.ignored_tags;
  object["ignored_keys"] = info.ignored_keys;
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace uvmsim::trace
