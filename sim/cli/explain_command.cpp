#include "cli/explain_command.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <sstream>

#include "base/field_text.h"
#include "base/join.h"
#include "base/registry.h"
#include "base/user_error.h"
#include "cli/config_files.h"
#include "machine/description.h"
#include "report/result_words.h"
#include "report/table.h"
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

// A meaning of a key, and the plug-ins whose parameter it then is.
struct Meaning {
  ConfigKey key;
  std::string plug_ins;
};

// A value of a key, and the bundled machines that have it.
struct MachineValue {
  std::string json, status, source, machines;
};

// Plug-ins that describe a parameter in the same words are named together.
std::vector<Meaning> meanings_of(const std::string& name, const std::vector<ConfigKey>& keys) {
  std::vector<Meaning> meanings;
  for (const ConfigKey& key : keys) {
    if (key.key != name) continue;
    const auto same = std::ranges::find_if(meanings, [&](const Meaning& meaning) {
      return meaning.key.field.doc == key.field.doc && meaning.key.default_json == key.default_json &&
             expected_form(meaning.key.field) == expected_form(key.field);
    });
    if (same == meanings.end())
      meanings.push_back({key, key.plug_in});
    else
      same->plug_ins += ", " + key.plug_in;
  }
  return meanings;
}

// Machines that agree stand together.
std::vector<MachineValue> values_in_machines(const std::string& key) {
  std::string pointer = "/" + key;
  std::ranges::replace(pointer, '.', '/');
  const std::string folder = configs_folder() + "/machines";
  std::vector<MachineValue> values;
  for (const std::string& name : config_names(folder)) {
    std::vector<InputError> errors;
    ResolvedConfig resolved;
    const JsonValue document = load_json(folder + "/" + name + ".json", read_text_file, errors);
    read_machine(&document, "/machine", errors, resolved);
    const auto value = std::ranges::find(resolved, pointer, &ResolvedValue::pointer);
    if (value == resolved.end()) continue;
    const auto same = std::ranges::find_if(values, [&](const MachineValue& known) {
      return known.json == value->json && known.status == value->status && known.source == value->source;
    });
    if (same == values.end())
      values.push_back({value->json, value->status, value->source, name});
    else
      same->machines += ", " + name;
  }
  return values;
}

// The keys below a section, each once.
std::vector<ConfigKey> keys_below(const std::string& section, const std::vector<ConfigKey>& keys) {
  std::vector<ConfigKey> below;
  for (const ConfigKey& key : keys)
    if (key.key.starts_with(section + ".") && (below.empty() || below.back().key != key.key)) below.push_back(key);
  return below;
}

void print_meaning(const Meaning& meaning, std::ostream& out) {
  const auto& [key, plug_ins] = meaning;
  out << key.key << "\n  " << key.field.doc << "\n";
  if (!plug_ins.empty()) out << "  parameter of: " << plug_ins << "\n";
  out << "  expected: " << expected_form(key.field) << "\n";
  const std::string range = range_text(key.field);
  if (!range.empty()) out << "  range: " << range << "\n";
  out << "  default: " << (key.default_json.empty() ? "none, must be written" : key.default_json) << "\n";
}

void print_machines(const std::vector<MachineValue>& values, std::ostream& out) {
  out << "  in the bundled machines:\n";
  for (const MachineValue& value : values)
    out << "    " << value.json << (value.status.empty() ? "" : ", " + value.status)
        << (value.source.empty() ? "" : ": " + value.source) << "\n      " << value.machines << "\n";
}

using Json = nlohmann::ordered_json;

Json json_of(const Meaning& meaning) {
  const auto& [key, plug_ins] = meaning;
  return {{"key", key.key},
          {"meaning", key.field.doc},
          {"parameter_of", plug_ins},
          {"expected", expected_form(key.field)},
          {"range", range_text(key.field)},
          {"default", key.default_json.empty() ? Json() : Json::parse(key.default_json)}};
}

Json json_of(const std::vector<MachineValue>& values) {
  Json json = Json::array();
  for (const MachineValue& value : values)
    json.push_back({{"value", Json::parse(value.json)},
                    {"status", value.status},
                    {"source", value.source},
                    {"machines", value.machines}});
  return json;
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
  if (with_part.empty()) with_part = {nearest(wanted, names)};
  if (with_part.front().empty()) with_part = {key_named_like(wanted)};
  const std::string more = with_part.size() > kMost ? ", or " + std::to_string(with_part.size() - kMost) + " more" : "";
  std::ranges::stable_sort(with_part, {}, &std::string::size);
  with_part.resize(std::min(with_part.size(), kMost));
  const std::string list = joined(with_part);
  return list.empty() ? "" : "; did you mean " + list + more + "?";
}

// A plug-in that `wanted` names, "generator.stencil2d" or "stencil2d"; no kind: it names none, or several do.
struct NamedPlugIn {
  const PlugInKind* kind = nullptr;
  std::string name;
};

NamedPlugIn plug_in_named(const std::string& wanted) {
  const std::size_t dot = wanted.find('.');
  const std::string name = wanted.substr(dot == std::string::npos ? 0 : dot + 1);
  NamedPlugIn found;
  for (const PlugInKind* kind : kinds()) {
    if (dot != std::string::npos ? kind->text().name != wanted.substr(0, dot) : !kind->has(name)) continue;
    if (found.kind != nullptr) return {};
    if (!kind->has(name)) throw UserError("explain " + wanted, kind->unknown("", name).message);
    found = {kind, name};
  }
  return found;
}

// Its parameters, where a configuration has them.
std::vector<ConfigKey> keys_of(const NamedPlugIn& of, const std::vector<ConfigKey>& keys) {
  const std::string place(of.kind->text().options);
  if (place.empty()) return {};
  if (of.kind->text().section_each) return keys_below(place + "." + of.name, keys);
  std::vector<ConfigKey> own;
  for (const ConfigKey& key : keys)
    if (key.plug_in == of.name && key.key.starts_with(place + ".")) own.push_back(key);
  return own;
}

void print_words(const std::vector<ResultWord>& words, bool as_json, std::ostream& out) {
  Json json = {{"words", Json::array()}};
  for (const ResultWord& word : words) {
    json["words"].push_back({{"word", word.word}, {"unit", word.unit}, {"meaning", word.meaning}});
    if (!as_json)
      out << word.word << "\n  " << word.meaning << "\n"
          << (word.unit.empty() || word.unit == "1" ? "" : "  unit: " + word.unit + "\n");
  }
  if (as_json) out << json.dump(2) << "\n";
}

void explain_plug_in(const NamedPlugIn& of, const std::vector<ConfigKey>& keys, bool as_json, std::ostream& out) {
  const KindText& kind = of.kind->text();
  const std::vector<const PlugInText*> all = of.kind->plug_ins();
  const PlugInText& text = **std::ranges::find(all, of.name, [](const PlugInText* each) { return each->name; });
  const std::vector<ConfigKey> own = keys_of(of, keys);
  if (as_json) {
    Json json = {{"kind", kind.name},     {"name", of.name}, {"meaning", text.summary},
                 {"source", text.source}, {"use", kind.use}, {"on_hardware", text.on_hardware}};
    json["keys"] = Json::array();
    for (const ConfigKey& key : own) json["keys"].push_back(json_of({key, key.plug_in}));
    out << json.dump(2) << "\n";
    return;
  }
  out << kind.name << "." << of.name << "\n  " << text.summary << "\n  source: " << text.source
      << "\n  used by: " << kind.use << "=" << of.name << "\n";
  if (!text.on_hardware.empty()) out << "  on hardware: " << text.on_hardware << "\n";
  out << (own.empty() ? "  it has no parameters\n" : "");
  for (const ConfigKey& key : own) print_meaning({key, ""}, out);
}

// The keys below section `name`. Those of plug-ins only by whose they are: each has a page of its own.
void print_section(const std::string& name, const std::vector<ConfigKey>& below, const std::vector<ConfigKey>& keys,
                   std::ostream& out) {
  std::set<std::string> of_plug_ins;
  std::string plug_ins, example;
  for (const PlugInKind* kind : kinds()) {
    const std::string place(kind->text().options);
    if (place != name && !place.starts_with(name + ".")) continue;
    std::string names;
    for (const PlugInText* plug_in : kind->plug_ins()) {
      const std::vector<ConfigKey> own = keys_of({kind, plug_in->name}, keys);
      for (const ConfigKey& key : own) of_plug_ins.insert(key.key);
      if (own.empty()) continue;
      names += " " + plug_in->name;
      if (example.empty()) example = std::string(kind->text().name) + "." + plug_in->name;
    }
    if (!names.empty()) plug_ins += "  " + std::string(kind->text().name) + ": " + names + "\n";
  }
  for (const ConfigKey& key : below)
    if (key.plug_in.empty() && !of_plug_ins.contains(key.key)) out << key.key << "\n  " << key.field.doc << "\n";
  if (!plug_ins.empty())
    out << "\nParameters of plug-ins; `uvmsim explain " << example << "` explains those of one\n" << plug_ins;
}

void explain(const std::string& wanted, bool as_json, std::ostream& out) {
  const std::vector<ConfigKey> keys = config_keys();
  const std::string name = any_element(wanted);
  const std::vector<Meaning> meanings = meanings_of(name, keys);
  const std::vector<ConfigKey> below = keys_below(name, keys);
  if (meanings.empty() && below.empty()) {
    if (const NamedPlugIn of = plug_in_named(wanted); of.kind != nullptr)
      return explain_plug_in(of, keys, as_json, out);
    const std::vector<ResultWord> words = result_words_like(wanted);
    if (words.empty()) throw UserError("explain " + wanted, "unknown key" + suggestion(wanted, keys));
    return print_words(words, as_json, out);
  }
  const bool in_machines = !meanings.empty() && name.starts_with("machine.");
  const std::vector<MachineValue> values = in_machines ? values_in_machines(name) : std::vector<MachineValue>();
  if (as_json) {
    Json json = {{"keys", Json::array()}, {"in_machines", json_of(values)}};
    for (const Meaning& meaning : meanings) json["keys"].push_back(json_of(meaning));
    for (const ConfigKey& key : below) json["keys"].push_back(json_of({key, key.plug_in}));
    out << json.dump(2) << "\n";
    return;
  }
  for (const Meaning& meaning : meanings) print_meaning(meaning, out);
  if (in_machines) print_machines(values, out);
  print_section(name, below, keys, out);
}

}  // namespace

void add_explain_command(Verb app, Console& console) {
  auto words = std::make_shared<std::vector<std::string>>();
  Verb command = app.verb("explain", "explain a configuration key, a plug-in or a term in a result");
  command
      .option("key", *words,
              "such as driver.uvm_perf_prefetch_threshold, a section such as machine.gpu, a plug-in such as "
              "generator.stencil2d, or words of a result such as fault group")
      .required();
  auto json = std::make_shared<bool>(false);
  command.flag("--json", *json, "print one JSON object");
  command.run([words, json, &console] {
    std::ostringstream text;
    explain(joined(*words, " "), *json, text);
    console.out << (*json ? text.str() : folded(text.str()));
  });
}

}  // namespace uvmsim
