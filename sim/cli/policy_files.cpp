#include "cli/policy_files.h"

#include <algorithm>
#include <filesystem>

#include "cli/config_files.h"
#include "study/experiment.h"

namespace uvmsim {
namespace {

std::string policies_folder() { return configs_folder() + "/policies"; }

bool is_file(const std::string& name) {
  std::error_code error;
  return name.ends_with(".json") && std::filesystem::is_regular_file(name, error);
}

// Of a file, without its folder and ".json".
std::string plain_name(const std::string& name) {
  return is_file(name) ? std::filesystem::path(name).stem().string() : name;
}

PolicyFile load(const std::string& name, std::vector<InputError>& errors) {
  const std::string file = is_file(name) ? name : policies_folder() + "/" + name + ".json";
  return read_policy(plain_name(name), read_text_file(file).value_or(""), file, errors);
}

}  // namespace

const std::vector<std::string>& default_policies() {
  static const std::vector<std::string> names = {
      "default",          "threshold_5", "prefetch_off", "operand_prefetch", "prefetch_when_needed",
      "activations_only", "deepum",      "driver_580",   "discard",          "clairvoyant"};
  return names;
}

std::vector<PolicyFile> find_policies(const std::vector<std::string>& names) {
  const std::vector<std::string> known = config_names(policies_folder());
  std::vector<PolicyFile> policies;
  std::vector<InputError> errors;
  for (const std::string& name : names) {
    if (!is_file(name) && std::ranges::find(known, name) == known.end()) {
      errors.push_back(
          {"--policies",
           "no policy is named \"" + name + "\"" +
               did_you_mean(name, known, "; expected a file that ends in .json, or one of `uvmsim list policies`")});
    } else if (std::ranges::find(policies, plain_name(name), &PolicyFile::name) != policies.end()) {
      errors.push_back({"--policies", "\"" + name + "\" is named twice"});
    } else {
      policies.push_back(load(name, errors));
    }
  }
  if (!errors.empty()) throw UserError("compare", std::move(errors));
  return policies;
}

std::vector<PolicyFile> bundled_policies() { return find_policies(config_names(policies_folder())); }

}  // namespace uvmsim
