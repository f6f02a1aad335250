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

void explain_leaf(const ConfigKey& key, const std::string& generators_of_it, std::ostream& out) {
  out << key.key << "\n  " << key.field.doc << "\n";
  if (!generators_of_it.empty()) out << "  parameter of: " << generators_of_it << "\n";
  out << "  expected: " << expected_form(key.field) << "\n";
  const std::string range = range_text(key.field);
  if (!range.empty()) out << "  range: " << range << "\n";
  out << "  default: " << (key.default_json.empty() ? "none, must be written" : key.default_json) << "\n";
}

// The value of a machine key in every bundled machine, with how well it is known.
void explain_in_machines(const std::string& key, std::ostream& out) {
  std::string pointer = "/" + key;
  std::ranges::replace(pointer, '.', '/');
  const std::string folder = configs_folder() + "/machines";
  out << "  in the bundled machines:\n";
  for (const std::string& name : config_names(folder)) {
    std::vector<Fault> faults;
    ResolvedConfig resolved;
    const JsonValue document = load_json(folder + "/" + name + ".json", read_text_file, faults);
    read_machine(&document, "/machine", faults, resolved);
    for (const ResolvedValue& value : resolved)
      if (value.pointer == pointer)
        out << "    " << name << ": " << value.json << (value.status.empty() ? "" : " " + value.status)
            << (value.source.empty() ? "" : ": " + value.source) << "\n";
  }
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

void explain(const std::string& wanted, std::ostream& out) {
  const std::vector<ConfigKey> keys = config_keys();
  const std::string key = any_element(wanted);
  // Generators that describe a parameter in the same words are named together.
  std::vector<ConfigKey> meanings;
  std::vector<std::string> generators_of;
  for (const ConfigKey& candidate : keys) {
    if (candidate.key != key) continue;
    const auto same = std::ranges::find_if(meanings, [&](const ConfigKey& meaning) {
      return meaning.field.doc == candidate.field.doc && meaning.default_json == candidate.default_json &&
             expected_form(meaning.field) == expected_form(candidate.field);
    });
    if (same == meanings.end()) {
      meanings.push_back(candidate);
      generators_of.push_back(candidate.generator);
    } else {
      generators_of[static_cast<std::size_t>(same - meanings.begin())] += ", " + candidate.generator;
    }
  }
  for (std::size_t i = 0; i < meanings.size(); ++i) explain_leaf(meanings[i], generators_of[i], out);
  if (!meanings.empty() && key.starts_with("machine.")) explain_in_machines(key, out);
  if (!meanings.empty() || explain_section(keys, key, out)) return;

  std::vector<std::string> names;
  for (const ConfigKey& known : keys) names.push_back(known.key);
  // A bare name, without its section, is what a driver's user types.
  for (const std::string& name : names)
    if (name.ends_with("." + wanted)) throw UserError("explain " + wanted, "unknown key; did you mean " + name + "?");
  const std::string near = nearest(wanted, names);
  throw UserError("explain " + wanted, "unknown key" + (near.empty() ? "" : "; did you mean " + near + "?"));
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
