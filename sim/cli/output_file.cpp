#include "cli/output_file.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <iostream>
#include <optional>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "base/user_error.h"

namespace uvmsim {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path) {
  const int error = errno != 0 ? errno : EIO;
  throw std::system_error(error, std::generic_category(), path + " cannot be written");
}

// The temporary files that are open and the folders that were made, for a signal handler: names in memory that does not
// move.
struct OpenFile {
  std::atomic<bool> taken = false;
  std::atomic<bool> there = false;  // `name` is complete, and the file may exist
  std::array<char, PATH_MAX> name{};
};
std::array<OpenFile, 16> open_files;  // NOLINT(*-global-variables): the handler reads it
static_assert(std::atomic<bool>::is_always_lock_free);

int remember(const std::string& name) {
  for (std::size_t i = 0; i < open_files.size() && name.size() < PATH_MAX; ++i) {
    if (open_files[i].taken.exchange(true)) continue;
    std::memcpy(open_files[i].name.data(), name.c_str(), name.size() + 1);
    open_files[i].there = true;
    return static_cast<int>(i);
  }
  return -1;  // an interrupt leaves the file
}

void forget(int remembered) {
  if (remembered < 0) return;
  open_files[static_cast<std::size_t>(remembered)].there = false;
  open_files[static_cast<std::size_t>(remembered)].taken = false;
}

std::optional<struct stat> status_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

bool is_same(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

// Where the links of `path` lead, whether or not there is a file.
std::string followed(const std::string& path) {
  constexpr int kMostLinks = 40;  // as the kernel
  fs::path at = path;
  std::error_code error;
  for (int links = 0; links < kMostLinks && fs::is_symlink(at, error); ++links) {
    const fs::path next = fs::read_symlink(at, error);
    at = next.is_absolute() ? next : at.parent_path() / next;
  }
  return at.string();
}

// What temporary files of this machine end in, but for the number of their process.
const std::string& partial() {
  static const std::string ending = [] {
    std::array<char, HOST_NAME_MAX + 1> host{};
    gethostname(host.data(), HOST_NAME_MAX);
    return ".partial-" + std::string(host.data()) + "-";
  }();
  return ending;
}

// Removes what programs of this machine that are gone left next to `target`.
void remove_left_over(const fs::path& target) {
  const std::string prefix = target.filename().string() + partial();
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    pid_t owner = 0;
    if (!name.starts_with(prefix)) continue;
    const char* const digits = name.data() + prefix.size();
    const char* const end = name.data() + name.size();
    if (std::from_chars(digits, end, owner).ptr == end && owner > 0 && kill(owner, 0) != 0 && errno == ESRCH)
      fs::remove(entry.path(), error);
  }
}

void synchronise(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  fsync(file);  // file systems that cannot say so
  close(file);
}

}  // namespace

OutputFile::OutputFile(std::string path, const std::vector<std::string>& inputs)
    : path_(std::move(path)), target_(followed(path_)) {
  const std::optional<struct stat> there = status_of(path_);
  for (const std::string& input : inputs) {
    const std::optional<struct stat> other = status_of(input);
    if (there && other && S_ISREG(there->st_mode) && is_same(*there, *other))
      throw UserError(path_, "is an input of this command, and would be lost");
  }
  struct stat own {};
  const bool is_own_output = there && fstat(STDOUT_FILENO, &own) == 0 && is_same(*there, own);
  if (is_own_output) own_output_.rdbuf(std::cout.rdbuf());
  if (is_own_output || (there && !S_ISREG(there->st_mode) && !S_ISDIR(there->st_mode))) return;
  if (there && S_ISDIR(there->st_mode)) {
    errno = EISDIR;
    fail(path_);
  }
  temporary_ = target_ + partial() + std::to_string(getpid());
  remove_left_over(target_);
  open();  // to fail before the work, not after it
  file_.close();
  remove_temporary();
  open_ = false;
}

OutputFile::~OutputFile() {
  if (kept_ || !open_) return;
  file_.close();
  if (!temporary_.empty()) remove_temporary();
}

void OutputFile::open() {
  open_ = true;
  if (own_output_.rdbuf() != nullptr) return;
  if (!temporary_.empty()) remembered_ = remember(temporary_);
  errno = 0;
  file_.open(temporary_.empty() ? path_ : temporary_, std::ios::binary | std::ios::trunc);
  if (file_) return;
  const int error = errno;
  forget(std::exchange(remembered_, -1));
  errno = error;
  fail(path_);
}

void OutputFile::remove_temporary() {
  unlink(temporary_.c_str());
  forget(std::exchange(remembered_, -1));
}

std::ostream& OutputFile::stream() {
  if (!open_) open();
  return own_output_.rdbuf() != nullptr ? own_output_ : file_;
}

void OutputFile::finish() {
  errno = 0;
  std::ostream& out = stream();
  out.flush();
  if (file_.is_open()) file_.close();
  if (!out) fail(path_);
}

void OutputFile::keep() {
  finish();
  kept_ = true;
  if (temporary_.empty()) return;
  if (const std::optional<struct stat> there = status_of(target_)) chmod(temporary_.c_str(), there->st_mode & 07777);
  synchronise(temporary_);
  errno = 0;
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) {
    const int error = errno;
    remove_temporary();
    errno = error;
    fail(path_);
  }
  forget(std::exchange(remembered_, -1));
  const std::string folder = fs::path(target_).parent_path().string();
  synchronise(folder.empty() ? "." : folder);
}

OutputFolder::OutputFolder(const fs::path& folder) {
  std::error_code error;
  std::vector<std::string> missing;
  for (fs::path at = folder; !at.empty() && !fs::exists(at, error); at = at.parent_path())
    missing.push_back(at.string());
  for (const std::string& path : missing) made_.push_back({path, remember(path)});  // before an interrupt finds them
  fs::create_directories(folder, error);
  if (!fs::is_directory(folder))
    throw std::system_error(error ? error : std::make_error_code(std::errc::not_a_directory),
                            folder.string() + ": cannot make this folder");
  if (access(folder.c_str(), W_OK) != 0)
    throw std::system_error(errno, std::generic_category(), folder.string() + ": cannot write in this folder");
}

OutputFolder::~OutputFolder() {
  for (const Made& made : made_) {
    rmdir(made.path.c_str());
    forget(made.remembered);
  }
}

void remove_temporary_files() {
  for (const OpenFile& file : open_files)
    if (file.there) unlink(file.name.data());     // not a folder
  for (const OpenFile& folder : open_files)       // the innermost first
    if (folder.there) rmdir(folder.name.data());  // not a file, nor what has something inside
}

}  // namespace uvmsim
