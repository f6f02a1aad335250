#include "cli/case_files.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "base/user_error.h"
#include "cli/config_files.h"

namespace uvmsim {

namespace fs = std::filesystem;

namespace {

// The file that `name` means: itself, or the one of a bundled family; "" where there is neither.
std::string file_of(const std::string& name) {
  std::error_code error;
  for (const std::string& file :
       {name, validation_folder() + "/cases/" + name + ".json", validation_folder() + "/claims/" + name + ".json"})
    if (fs::is_regular_file(file, error)) return file;
  return "";
}

// What is wrong with `name`, which is no file, no folder and no bundled family.
std::string unknown(const std::string& name) {
  std::vector<std::string> names = config_names(validation_folder() + "/cases");
  std::ranges::copy(config_names(validation_folder() + "/claims"), std::back_inserter(names));
  return "no such file, folder or bundled family" + did_you_mean(name, names);
}

}  // namespace

std::vector<std::string> case_files(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  std::vector<InputError> errors;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      const std::string file = file_of(path);
      file.empty() ? errors.push_back({path, unknown(path)}) : files.push_back(file);
      continue;
    }
    const std::size_t before = files.size();
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path))
      if (entry.is_regular_file() && entry.path().extension() == ".json")
        files.push_back(entry.path().lexically_normal().string());
    if (files.size() == before) errors.push_back({path, "holds no .json file"});
  }
  if (!errors.empty()) throw UserError("validation cases", std::move(errors));
  std::ranges::sort(files);
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

}  // namespace uvmsim
