// Files that are removed when nobody needs them any more.
#pragma once

#include <filesystem>
#include <string>

namespace uvmsim {

// A folder of this user's, removed with all that is in it when this goes.
class TemporaryFolder {
 public:
  TemporaryFolder();  // std::system_error when there can be none
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string file(const std::string& name) const { return (path_ / name).string(); }
  void write(const std::string& name, const std::string& text) const;  // std::system_error when it cannot be written

 private:
  std::filesystem::path path_;
};

}  // namespace uvmsim
