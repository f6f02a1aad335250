#include "study/sweep/owner.h"

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "study/sweep/point_workers.h"

namespace uvmsim {

SweepOwner::SweepOwner(const std::string& folder) : folder_(folder + "/owners") {
  while (file_ < 0) {
    std::filesystem::create_directories(folder_);
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    name_ = worker_name() + ":" + std::to_string(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
    file_ = open(path(name_).c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0644);
    if (file_ < 0 && errno == ENOENT) continue;  // another owner, the last one, removed the folder
    if (file_ < 0) throw std::system_error(errno, std::generic_category(), "cannot make " + path(name_));
    struct stat status {};
    // Between the two calls somebody may have taken it for a dead owner's and removed it.
    if (flock(file_, LOCK_EX | LOCK_NB) == 0 && fstat(file_, &status) == 0 && status.st_nlink > 0) continue;
    close(file_);
    file_ = -1;
  }
  // Killed ones leave their files.
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, ignored)) is_alive(entry.path().filename());
}

SweepOwner::~SweepOwner() {
  std::error_code ignored;
  std::filesystem::remove(path(name_), ignored);
  std::filesystem::remove(folder_, ignored);  // when it is empty
  close(file_);
}

bool SweepOwner::is_alive(const std::string& name) const {
  if (name == name_) return true;
  const int file = open(path(name).c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return errno != ENOENT;
  const bool dead = flock(file, LOCK_EX | LOCK_NB) == 0;
  if (dead) unlink(path(name).c_str());
  close(file);
  return !dead;
}

}  // namespace uvmsim
