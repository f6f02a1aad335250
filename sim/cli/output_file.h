// Where results go: files that appear whole or not at all, and folders for them.
#pragma once

#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>

namespace uvmsim {

// Written under a temporary name beside `path`, which takes the file's place in `keep`. Destroyed before that, it
// leaves nothing; a killed program leaves the temporary file only.
class OutputFile {
 public:
  // Throws std::system_error when the file cannot be created.
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  std::ostream& stream() { return stream_; }
  // Call once, after the last write. Throws std::system_error when any of it could not be written.
  void keep();

 private:
  std::string path_, temporary_;
  std::ofstream stream_;
  bool kept_ = false;
};

// Makes `folder` if it is not there. UserError when it cannot be made or written in: call it before the work.
void make_folder(const std::filesystem::path& folder);

}  // namespace uvmsim
