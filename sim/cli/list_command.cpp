#include "cli/list_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/user_error.h"
#include "cli/config_files.h"
#include "cli/policy_files.h"
#include "importers/importer.h"
#include "memory/allocator.h"
#include "plan/call_policy.h"
#include "plan/coordinator.h"
#include "plan/planner.h"
#include "study/experiment.h"
#include "uvm/eviction/eviction_policy.h"
#include "uvm/gate/prefetch_gate.h"
#include "uvm/prefetch/prefetch_policy.h"
#include "workload/generator.h"

namespace uvmsim {
namespace {

struct Row {
  std::string name;
  std::string text;
};
using Rows = std::vector<Row>;

void print(std::ostream& out, const Rows& rows) {
  std::size_t width = 0;
  for (const Row& row : rows) width = std::max(width, row.name.size());
  for (const Row& row : rows)
    out << "  " << row.name << std::string(width - row.name.size() + 2, ' ') << row.text << "\n";
}

template <class R>
Rows rows_of(const R& registry) {
  Rows rows;
  for (const auto& named : registry.entries()) {
    const auto& entry = named.second;
    rows.push_back({named.first, entry.summary + " (" + entry.source + ")"});
    if constexpr (requires { entry.make()->on_hardware(); })
      rows.back().text += "; on hardware: " + entry.make()->on_hardware();
  }
  return rows;
}

// The machine files, with the names of their machines.
Rows machines() {
  Rows rows;
  const std::string folder = configs_folder() + "/machines";
  for (const std::string& name : config_names(folder)) {
    std::vector<InputError> errors;
    const JsonValue machine = load_json(folder + "/" + name + ".json", read_text_file, errors);
    const JsonValue* title = machine.find("name");
    rows.push_back({name, title == nullptr ? "" : title->text});
  }
  return rows;
}

Rows configs() {
  Rows rows;
  for (const std::string& name : config_names(configs_folder())) {
    std::vector<InputError> errors;
    const JsonValue config = load_json(configs_folder() + "/" + name + ".json", read_text_file, errors);
    const JsonValue* text = config.find("description");
    rows.push_back({name, text == nullptr ? "" : text->text});
  }
  return rows;
}

Rows policies() {
  Rows rows;
  for (const PolicyFile& policy : bundled_policies()) rows.push_back({policy.name, policy.description});
  return rows;
}

struct Kind {
  std::string name;
  std::string what;
  Rows (*rows)();
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"configs", "experiments, for `uvmsim run`", configs},
      {"policies", "for `uvmsim compare --policies`", policies},
      {"machines", "for \"machine\": {\"extends\": \"machines/NAME.json\"}", machines},
      {"generator", "for workload.generator", [] { return rows_of(generators()); }},
      {"importer", "for trace import --format", [] { return rows_of(importers()); }},
      {"allocator", "for workload.allocator", [] { return rows_of(allocators()); }},
      {"calls", "for workload.calls", [] { return rows_of(call_policies()); }},
      {"planner", "for plan.planner", [] { return rows_of(planners()); }},
      {"coordinator", "for plan.coordinator", [] { return rows_of(coordinators()); }},
      {"gate", "for the \"when\" of workload.call_options.operand_prefetch", [] { return rows_of(prefetch_gates()); }},
      {"prefetch", "for driver.prefetch_policy", [] { return rows_of(prefetch_policies()); }},
      {"eviction", "for driver.eviction_policy", [] { return rows_of(eviction_policies()); }}};
  return all;
}

nlohmann::ordered_json json_of(const Kind& kind) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Row& row : kind.rows()) rows.push_back({{"name", row.name}, {"summary", row.text}});
  return rows;
}

void list(const std::string& wanted, bool as_json, std::ostream& out) {
  std::vector<std::string> names;
  nlohmann::ordered_json json;
  bool found = false;
  for (const Kind& kind : kinds()) {
    names.push_back(kind.name);
    if (!wanted.empty() && wanted != kind.name && wanted + "s" != kind.name && wanted != kind.name + "s") continue;
    found = true;
    if (as_json) {
      json[kind.name] = json_of(kind);
      continue;
    }
    out << kind.name << ": " << kind.what << "\n";
    print(out, kind.rows());
  }
  if (as_json && found) out << json.dump(2) << "\n";
  if (found) return;
  const std::string near = nearest(wanted, names);
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  throw UserError("list " + wanted, "expected one of " + all + (near.empty() ? "" : "; did you mean " + near + "?"));
}

}  // namespace

std::vector<std::string> list_kinds() {
  std::vector<std::string> names;
  for (const Kind& kind : kinds()) names.push_back(kind.name);
  return names;
}

void add_list_command(CLI::App& app, Console& console) {
  auto kind = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("list", "the machines, configurations and plug-ins there are");
  command->add_option(
      "kind", *kind,
      "configs, policies, machines, generator, importer, allocator, calls, gate, prefetch or eviction; default: all");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "print one JSON object: lists of names by kind");
  command->callback([kind, json, &console] { list(*kind, *json, console.out); });
}

}  // namespace uvmsim
