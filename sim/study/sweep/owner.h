// Who simulates which points, when several sweeps run in one folder: a locked file for each of them.
#pragma once

#include <string>

namespace uvmsim {

// This process's file in FOLDER/owners. Locked until this is destroyed or the process ends, however that happens.
class SweepOwner {
 public:
  // Removes the files of owners that are gone. Throws std::system_error when its own cannot be made.
  explicit SweepOwner(const std::string& folder);
  ~SweepOwner();
  SweepOwner(const SweepOwner&) = delete;
  SweepOwner& operator=(const SweepOwner&) = delete;

  const std::string& name() const { return name_; }
  // Whether the owner of that name is still there. Removes the file of one that is not.
  bool is_alive(const std::string& name) const;

 private:
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_, name_;
  int file_ = -1;
};

}  // namespace uvmsim
