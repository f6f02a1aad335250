#include "cli/list_command.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/join.h"
#include "base/registry.h"
#include "cli/config_files.h"
#include "cli/policy_files.h"
#include "report/table.h"
#include "study/experiment.h"

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
    out << folded("  " + row.name + std::string(width - row.name.size() + 2, ' ') + row.text + "\n");
}

Rows rows_of(const PlugInKind& kind) {
  Rows rows;
  for (const PlugInText* plug_in : kind.plug_ins())
    rows.push_back({plug_in->name, plug_in->summary + " (" + plug_in->source + ")" +
                                       (plug_in->on_hardware.empty() ? "" : "; on hardware: " + plug_in->on_hardware)});
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

// What `uvmsim list` knows: files of the configs folder, and every kind of plug-in.
struct Listing {
  std::string name;
  std::string what;
  std::function<Rows()> rows;
};

const std::vector<Listing>& listings() {
  static const std::vector<Listing> all = [] {
    std::vector<Listing> listings = {
        {"configs", "experiments, for `uvmsim run`", configs},
        {"policies", "for `uvmsim compare --policies`", policies},
        {"machines", "for --machine, or \"machine\": {\"extends\": \"machines/NAME.json\"}", machines}};
    for (const PlugInKind* kind : kinds())
      listings.push_back(
          {std::string(kind->text().name), "for " + std::string(kind->text().use), [kind] { return rows_of(*kind); }});
    return listings;
  }();
  return all;
}

nlohmann::ordered_json json_of(const Listing& kind) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Row& row : kind.rows()) rows.push_back({{"name", row.name}, {"summary", row.text}});
  return rows;
}

void list(const std::string& wanted, bool as_json, std::ostream& out) {
  nlohmann::ordered_json json;
  bool found = false;
  for (const Listing& kind : listings()) {
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
  throw UserError("list " + wanted, "expected one of " + joined(list_kinds()) + did_you_mean(wanted, list_kinds()));
}

}  // namespace

std::vector<std::string> list_kinds() {
  std::vector<std::string> names;
  for (const Listing& kind : listings()) names.push_back(kind.name);
  return names;
}

void add_list_command(Verb app, Console& console) {
  auto kind = std::make_shared<std::string>();
  Verb command = app.verb("list", "list the machines, configurations and plug-ins");
  command.option("kind", *kind, "one of " + joined(list_kinds()) + "; default: all");
  auto json = std::make_shared<bool>(false);
  command.flag("--json", *json, "print one JSON object: lists of names by kind");
  command.run([kind, json, &console] { list(*kind, *json, console.out); });
}

}  // namespace uvmsim
