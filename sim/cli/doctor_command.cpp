#include "cli/doctor_command.h"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sqlite3.h>
#include <sstream>
#include <thread>
#include <unistd.h>
#include <zstd.h>

#include "base/number_text.h"
#include "base/user_error.h"
#include "base/version.h"
#include "cli/config_files.h"
#include "engine/network.h"
#include "study/experiment.h"

namespace uvmsim {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Programs that uvmsim starts or is installed with, what is missing without them, and where they come from.
const std::vector<std::pair<std::string, std::string>> kOptional = {
    {"uvmsim-mpi", "sweeps on several machines; built where Debian's libopenmpi-dev is installed"},
    {"mpirun", "sweeps on several machines; Debian's openmpi-bin"},
    {"cbc", "optimal plans (mixed-integer programs); Debian's coinor-cbc"}};

// Where a program is: next to this one, or in $PATH. "" when it is nowhere.
std::string find_program(const std::string& name, const fs::path& here) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(here.string() + ":" + (path == nullptr ? "" : path));
  for (std::string folder; std::getline(folders, folder, ':');)
    if (!folder.empty() && access((folder + "/" + name).c_str(), X_OK) == 0) return folder + "/" + name;
  return "";
}

std::int64_t memory_bytes(int kind) { return sysconf(kind) * sysconf(_SC_PAGESIZE); }

struct Findings {
  Json json;
  std::vector<std::string> problems;
};

// A bundled experiment that can be read says more about an installation than files that are there.
void check_configs(Findings& found) {
  try {
    const std::string folder = configs_folder();
    const std::vector<std::string> names = config_names(folder);
    found.json["configs"] = folder;
    found.json["experiments"] = names.size();
    found.json["machines"] = config_names(folder + "/machines").size();
    for (const std::string& name : names) read_experiment(folder + "/" + name + ".json");
  } catch (const std::exception& error) {
    found.problems.emplace_back(error.what());
  }
  try {
    const fs::path cases = fs::path(validation_folder()) / "cases";
    found.json["validation_cases"] = fs::is_directory(cases) ? cases.string() : "";
  } catch (const UserError&) {
    // said above
  }
}

void check_simgrid(Findings& found) {
  try {
    open_network_library();
  } catch (const std::runtime_error& error) {
    found.problems.emplace_back(error.what());
  }
}

Findings examine() {
  Findings found;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  found.json["version"] = kVersion;
  found.json["program"] = program.string();
  check_configs(found);
  check_simgrid(found);
  found.json["cores"] = std::thread::hardware_concurrency();
  found.json["memory_bytes"] = memory_bytes(_SC_PHYS_PAGES);
  found.json["free_memory_bytes"] = memory_bytes(_SC_AVPHYS_PAGES);
  found.json["libraries"] = {{"sqlite", sqlite3_libversion()}, {"zstd", ZSTD_versionString()}};
  for (const auto& [name, use] : kOptional) found.json["optional"][name] = find_program(name, program.parent_path());
  if (access(fs::temp_directory_path(error).c_str(), W_OK) != 0)
    found.problems.push_back("cannot write in " + fs::temp_directory_path(error).string());
  found.json["problems"] = found.problems;
  return found;
}

std::string text_of(const Findings& found) {
  const Json& json = found.json;
  const auto value = [&](const char* key) -> std::string {
    if (!json.contains(key)) return "not found";
    return json[key].is_string() ? json[key].get<std::string>() : json[key].dump();
  };
  std::vector<std::pair<std::string, std::string>> rows = {
      {"uvmsim", value("version") + ", " + value("program")},
      {"configurations",
       value("configs") + ": " + value("experiments") + " experiments, " + value("machines") + " machines"},
      {"validation cases", value("validation_cases")},
      {"cores", value("cores")},
      {"memory", bytes_text(json["memory_bytes"].get<double>()) + ", " +
                     bytes_text(json["free_memory_bytes"].get<double>()) + " of it free"}};
  for (const auto& [name, version] : json["libraries"].items()) rows.emplace_back(name, version.get<std::string>());
  for (const auto& [name, use] : kOptional) {
    const std::string path = json["optional"][name];
    rows.emplace_back(name, path.empty() ? "not found; without it: no " + use : path);
  }
  std::size_t width = 0;
  for (const auto& [name, text] : rows) width = std::max(width, name.size());
  std::string lines;
  for (const auto& [name, text] : rows) lines += name + std::string(width - name.size() + 2, ' ') + text + "\n";
  return lines;
}

}  // namespace

void add_doctor_command(Verb app, Console& console) {
  auto json = std::make_shared<bool>(false);
  Verb doctor = app.verb("doctor", "check this installation");
  doctor.flag("--json", *json, "print one JSON object");
  doctor.run([json, &console] {
    const Findings found = examine();
    console.out << (*json ? found.json.dump(2) + "\n" : text_of(found));
    for (const std::string& problem : found.problems) console.err << "uvmsim: " << problem << "\n";
    if (!found.problems.empty()) console.exit = ExitCode::SetupImpossible;
  });
}

}  // namespace uvmsim
