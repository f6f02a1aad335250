#include "cli/case_files.h"

#include <algorithm>
#include <filesystem>

#include "base/user_error.h"

namespace uvmsim {

namespace fs = std::filesystem;

std::vector<std::string> case_files(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  std::vector<InputError> errors;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      if (fs::is_regular_file(path, error))
        files.push_back(path);
      else
        errors.push_back({path, "no such file or folder"});
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
