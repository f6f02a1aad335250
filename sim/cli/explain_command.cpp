#include "cli/explain_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <ostream>

#include "base/field_text.h"
#include "base/user_error.h"
#include "cli/config_files.h"
#include "machine/description.h"
#include "study/config_keys.h"
#include "study/experiment.h"

namespace uvmsim {
namespace {

// "machine.links.3.up" is explained by "machine.links.0.up".
std::string any_element(std::string key) {
  for (std::size_t start = 0; start < key.size();) {
    const std::size_t end = std::min(key.find('.', start), key.size());
    const bool number = end > start && key.find_first_not_of("0123456789", start) >= end;
    if (number) key.replace(start, end - start, "0");
    start = (number ? start + 1 : end) + 1;
  }
  return key;
}

void explain_leaf(const ConfigKey& key, const std::string& plug_ins_of_it, std::ostream& out) {
  out << key.key << "\n  " << key.field.doc << "\n";
  if (!plug_ins_of_it.empty()) out << "  parameter of: " << plug_ins_of_it << "\n";
  out << "  expected: " << expected_form(key.field) << "\n";
  const std::string range = range_text(key.field);
  if (!range.empty()) out << "  range: " << range << "\n";
  out << "  default: " << (key.default_json.empty() ? "none, must be written" : key.default_json) << "\n";
}

// The value of a machine key in every bundled machine, with how well it is known. Machines that agree share
// a line.
void explain_in_machines(const std::string& key, std::ostream& out) {
  std::string pointer = "/" + key;
  std::ranges::replace(pointer, '.', '/');
  const std::string folder = configs_folder() + "/machines";
  std::vector<std::pair<std::string, std::string>> values;  // what is known, the machines
  for (const std::string& name : config_names(folder)) {
    std::vector<Fault> faults;
    ResolvedConfig resolved;
    const JsonValue document = load_json(folder + "/" + name + ".json", read_text_file, faults);
    read_machine(&document, "/machine", faults, resolved);
    const auto value = std::ranges::find(resolved, pointer, &ResolvedValue::pointer);
    if (value == resolved.end()) continue;
    const std::string known = value->json + (value->status.empty() ? "" : ", " + value->status) +
                              (value->source.empty() ? "" : ": " + value->source);
    const auto same = std::ranges::find(values, known, &std::pair<std::string, std::string>::first);
    if (same == values.end())
      values.emplace_back(known, name);
    else
      same->second += ", " + name;
  }
  out << "  in the bundled machines:\n";
  for (const auto& [known, names] : values) out << "    " << known << "\n      " << names << "\n";
}

// The keys below a section, one line each; false when `prefix` is no section.
bool explain_section(const std::vector<ConfigKey>& keys, const std::string& prefix, std::ostream& out) {
  bool any = false;
  std::string last;
  for (const ConfigKey& key : keys) {
    if (!key.key.starts_with(prefix + ".")) continue;
    any = true;
    if (key.key == last) continue;
    out << key.key << "\n  " << key.field.doc << "\n";
    last = key.key;
  }
  return any;
}

// A part of a key, such as "threshold", suggests the keys that have it; anything else the nearest key.
std::string suggestion(const std::string& wanted, const std::vector<ConfigKey>& keys) {
  constexpr std::size_t kMost = 8;
  std::vector<std::string> names;
  std::vector<std::string> with_part;
  for (const ConfigKey& key : keys) {
    names.push_back(key.key);
    const bool listed = std::ranges::find(with_part, key.key) != with_part.end();
    if (!listed && key.key.find(wanted) != std::string::npos) with_part.push_back(key.key);
  }
  if (with_part.empty() || with_part.size() > kMost) with_part = {nearest(wanted, names)};
  std::string list;
  for (const std::string& name : with_part) list += (list.empty() ? "" : ", ") + name;
  return list.empty() ? "" : "; did you mean " + list + "?";
}

void explain(const std::string& wanted, std::ostream& out) {
  const std::vector<ConfigKey> keys = config_keys();
  const std::string key = any_element(wanted);
  // Plug-ins that describe a parameter in the same words are named together.
  std::vector<ConfigKey> meanings;
  std::vector<std::string> plug_ins_of;
  for (const ConfigKey& candidate : keys) {
    if (candidate.key != key) continue;
    const auto same = std::ranges::find_if(meanings, [&](const ConfigKey& meaning) {
      return meaning.field.doc == candidate.field.doc && meaning.default_json == candidate.default_json &&
             expected_form(meaning.field) == expected_form(candidate.field);
    });
    if (same == meanings.end()) {
      meanings.push_back(candidate);
      plug_ins_of.push_back(candidate.plug_in);
    } else {
      plug_ins_of[static_cast<std::size_t>(same - meanings.begin())] += ", " + candidate.plug_in;
    }
  }
  for (std::size_t i = 0; i < meanings.size(); ++i) explain_leaf(meanings[i], plug_ins_of[i], out);
  if (!meanings.empty() && key.starts_with("machine.")) explain_in_machines(key, out);
  if (!meanings.empty() || explain_section(keys, key, out)) return;

  throw UserError("explain " + wanted, "unknown key" + suggestion(wanted, keys));
}

}  // namespace

void add_explain_command(CLI::App& app, Console& console) {
  auto key = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("explain", "what a key of the configuration means");
  command->add_option("key", *key, "such as driver.uvm_perf_prefetch_threshold, or a section such as machine.gpu")
      ->required();
  command->callback([key, &console] { explain(*key, console.out); });
}

}  // namespace uvmsim
