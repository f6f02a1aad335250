// Where results go: files that appear whole or not at all, and folders for them. Every file that the program writes for
// its user is written here.
#pragma once

#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>
#include <vector>

namespace uvmsim {

// A file that takes the place of `path` in `keep`, and not before: it is written next to it, under the name
// "PATH.partial-HOST-PID", is on the disk before it takes that name, and has the mode of the file that it replaces.
// Links are followed. What is no regular file (a device, a pipe, the program's own standard output) is written to as it
// is.
//
// Destroyed before `keep`, or interrupted, it leaves nothing; what a killed program left is removed by the next one on
// the same machine that writes the same file.
class OutputFile {
 public:
  // Throws std::system_error when the file cannot be created, UserError when it is one of `inputs`, the files that the
  // command reads.
  explicit OutputFile(std::string path, const std::vector<std::string>& inputs = {});
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  std::ostream& stream();
  // Ends the writing. Throws std::system_error when any of it could not be written.
  void finish();
  // `finish`, and takes the place of what was there. Call once, after the last write.
  void keep();

 private:
  void open();
  void remove_temporary();

  std::string path_, target_;  // as named, and where its links lead
  std::string temporary_;      // "": what is at `target_` is written to
  std::ofstream file_;
  std::ostream own_output_{nullptr};  // where `path` is the program's standard output
  int remembered_ = -1;               // the place among the files that an interrupt removes; -1: there is none
  bool open_ = false, kept_ = false;
};

// A folder for files, made if it is not there. What it made is gone with it, and when the program is interrupted,
// unless something is inside by then.
class OutputFolder {
 public:
  // Throws std::system_error when it cannot be made or written in: call it before the work.
  explicit OutputFolder(const std::filesystem::path& folder);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

 private:
  struct Made {
    std::string path;
    int remembered;  // as OutputFile's
  };
  std::vector<Made> made_;  // the innermost first
};

// Removes the temporary files of all OutputFiles that are open, and the folders of OutputFolders that are empty. Safe
// in a signal handler.
void remove_temporary_files();

}  // namespace uvmsim
