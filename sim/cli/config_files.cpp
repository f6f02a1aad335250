#include "cli/config_files.h"

#include <algorithm>
#include <filesystem>

#include "base/user_error.h"

namespace uvmsim {

namespace fs = std::filesystem;

std::string configs_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) throw UserError("bundled configurations", "not found: /proc/self/exe: " + error.message());
  const fs::path installed = program.parent_path().parent_path() / "share/uvmsim/configs";
  if (fs::is_directory(installed / "machines", error)) return installed.string();
  for (fs::path folder = program.parent_path(); folder.has_relative_path(); folder = folder.parent_path())
    if (fs::is_directory(folder / "configs/machines", error)) return (folder / "configs").string();
  throw UserError("bundled configurations",
                  "not found: neither " + installed.string() + " nor a folder configs above " + program.string());
}

std::string validation_folder() { return (fs::path(configs_folder()).parent_path() / "validation").string(); }

std::optional<PublishedErrors> published_errors() {
  const std::string path = validation_folder() + "/results.json";
  const std::optional<std::string> text = read_text_file(path);
  if (!text) return std::nullopt;
  PublishedErrors errors = read_errors(*text, path);
  if (errors.families.empty()) return std::nullopt;
  return errors;
}

std::string find_config(const std::string& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return path;
  const fs::path bundled = configs_folder();
  const std::string inner = path.starts_with("configs/") ? path.substr(8) : path;
  for (const fs::path& candidate : {bundled / inner, bundled / (inner + ".json")})
    if (!fs::path(path).is_absolute() && fs::is_regular_file(candidate, error)) return candidate.string();
  const std::string near = nearest(fs::path(path).stem().string(), config_names(bundled.string()));
  throw UserError(path, "no such file" + (near.empty() ? "" : "; did you mean " + near + "?"));
}

Experiment read_config(const std::string& path, const std::vector<std::string>& settings) {
  const std::string file = find_config(path);
  return read_experiment(file, settings, beside_or_bundled(file, configs_folder()));
}

std::vector<std::string> config_names(const std::string& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".json" && entry.path().stem() != "schema")
      names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

}  // namespace uvmsim
