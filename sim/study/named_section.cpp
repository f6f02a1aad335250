#include "study/named_section.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>

#include "base/join.h"
#include "study/experiment.h"
#include "workload/generator.h"

namespace uvmsim {
namespace {

namespace fs = std::filesystem;

// The keys whose values are names, and the folder of bundled files that have them.
const std::map<std::string, std::string, std::less<>> kNamed = {{"machine", "machines"},
                                                                {"machine.gpu", "machines/gpus"},
                                                                {"machine.host", "machines/hosts"},
                                                                {"workload", "workloads"},
                                                                {"policy", "policies"}};

JsonValue section_of(const std::string& key, const std::string& text, const std::string& option) {
  JsonValue value;
  value.type = JsonValue::Type::String;
  value.text = text;
  value.origin = option;
  JsonValue section;
  section.type = JsonValue::Type::Object;
  section.origin = option;
  section.members.push_back({key, std::move(value)});
  return section;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  return names;
}

// What `name` may have meant of `names`: those that begin with it, else the nearest.
std::string suggestion(const std::string& name, const std::vector<std::string>& names) {
  std::vector<std::string> longer;
  std::ranges::copy_if(names, std::back_inserter(longer),
                       [&](const std::string& one) { return one.starts_with(name); });
  if (longer.size() < 2) return did_you_mean(name, names);
  std::ranges::sort(longer);
  return "; which of " + joined(longer) + "?";
}

}  // namespace

bool is_section_name(std::string_view key, std::string_view value) {
  return kNamed.contains(key) && !value.starts_with('{');
}

JsonValue named_section(const std::string& key, const std::string& name, const std::string& configs_folder,
                        const std::string& option, std::vector<InputError>& errors) {
  const fs::path folder = fs::path(configs_folder) / kNamed.at(key);
  std::error_code error;
  const bool is_file = fs::is_regular_file(name, error);
  if (key == "workload") {
    if (is_file && !name.ends_with(".json")) return section_of("trace", name, option);
    if (!is_file && generators().find(name) != nullptr) return section_of("generator", name, option);
  }
  const std::string file = is_file ? name : (folder / (name + ".json")).string();
  if (!is_file && !fs::is_regular_file(file, error)) {
    errors.push_back(
        {option.ends_with(key) ? option : option + " " + key,
         "no file and no bundled " + key + " is named \"" + name + "\"" + suggestion(name, names_in(folder))});
    return {};
  }
  JsonValue value = load_json(file, beside_or_bundled(file, configs_folder), errors);
  if (key != "policy") return value;
  const JsonValue* set = value.find("set");
  if (set == nullptr || set->type != JsonValue::Type::Object) {
    errors.push_back({file, R"(expected a policy: an object with "set", the keys to set)"});
    return {};
  }
  return *set;
}

void put_section(JsonValue& document, const std::string& key, const JsonValue& section, const std::string& option,
                 std::vector<InputError>& errors) {
  if (key != "policy") return apply_setting(document, key, section, option, errors);
  for (const JsonMember& member : section.members)
    apply_setting(document, member.key, member.value, member.value.origin, errors);
}

void apply_setting(JsonValue& document, const std::string& setting, const std::string& configs_folder,
                   std::vector<InputError>& errors) {
  const std::size_t equals = setting.find('=');
  const std::string key = setting.substr(0, equals);
  if (key.ends_with(".extends")) {
    std::string pointer = "/" + key;
    std::ranges::replace(pointer, '.', '/');
    errors.push_back({place_of(pointer, "--set"), R"(only files have "extends"; --machine names another machine)"});
    return;
  }
  if (equals == std::string::npos || !is_section_name(key, std::string_view(setting).substr(equals + 1)))
    return apply_setting(document, setting, errors);
  const std::size_t before = errors.size();
  const JsonValue section = named_section(key, setting.substr(equals + 1), configs_folder, "--set", errors);
  if (errors.size() == before) put_section(document, key, section, "--set", errors);
}

}  // namespace uvmsim
