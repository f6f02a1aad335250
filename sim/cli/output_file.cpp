#include "cli/output_file.h"

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <unistd.h>

#include "base/user_error.h"

namespace uvmsim {
namespace {

[[noreturn]] void fail(const std::string& path) {
  const int error = errno != 0 ? errno : EIO;
  throw std::system_error(error, std::generic_category(), path + " cannot be written");
}

}  // namespace

OutputFile::OutputFile(std::string path)
    : path_(std::move(path)), temporary_(path_ + ".partial-" + std::to_string(getpid())) {
  errno = 0;
  stream_.open(temporary_, std::ios::binary | std::ios::trunc);
  if (!stream_) fail(path_);
}

OutputFile::~OutputFile() {
  if (kept_) return;
  stream_.close();
  std::remove(temporary_.c_str());
}

void OutputFile::keep() {
  errno = 0;
  stream_.close();
  if (!stream_ || std::rename(temporary_.c_str(), path_.c_str()) != 0) fail(path_);
  kept_ = true;
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!std::filesystem::is_directory(folder))
    throw UserError(folder.string(), "cannot make this folder: " + error.message());
  if (access(folder.c_str(), W_OK) != 0) throw UserError(folder.string(), "cannot write in this folder");
}

}  // namespace uvmsim
