#include "study/shared_work.h"

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <sys/file.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include "study/experiment.h"
#include "study/temporary_folder.h"
#include "trace/digest.h"

namespace uvmsim {
namespace {

constexpr std::chrono::milliseconds kLook{10};  // between two looks for a free slot

struct Shared {
  explicit Shared(int count) : slots(count) {}
  TemporaryFolder folder;
  int slots;
};
std::optional<Shared> shared;  // of the SharedWork that lives

// A file that one process at a time has locked, until it unlocks it or ends.
class LockedFile {
 public:
  explicit LockedFile(const std::string& path) : file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (file_ < 0) throw std::system_error(errno, std::generic_category(), path);
  }
  ~LockedFile() { close(file_); }
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  bool lock_if_free() const { return flock(file_, LOCK_EX | LOCK_NB) == 0; }
  void lock() const {
    while (flock(file_, LOCK_EX) != 0)
      if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "cannot lock a file");
  }
  void unlock() const { flock(file_, LOCK_UN); }

 private:
  int file_;
};

std::optional<LockedFile> slot;  // this process's

void take_slot() {
  while (shared) {
    for (int n = 0; n < shared->slots; ++n) {
      slot.emplace(shared->folder.file("slot" + std::to_string(n)));
      if (slot->lock_if_free()) return;
    }
    slot.reset();
    std::this_thread::sleep_for(kLook);
  }
}

// Children that this process forked have the file open as well.
void give_slot_back() {
  if (slot) slot->unlock();
  slot.reset();
}

void lock_without_slot(const LockedFile& file) {
  if (file.lock_if_free()) return;
  const bool held = slot.has_value();
  give_slot_back();
  file.lock();
  if (held) take_slot();
}

}  // namespace

SharedWork::SharedWork(int slots) { shared.emplace(slots); }
SharedWork::~SharedWork() { shared.reset(); }
bool SharedWork::lives() { return shared.has_value(); }

WorkSlot::WorkSlot() { take_slot(); }
WorkSlot::~WorkSlot() { give_slot_back(); }

std::string done_once(const std::string& key, const std::function<std::string()>& work) {
  if (!shared) return work();
  trace::Digest digest;
  digest.add(key);
  const TemporaryFolder& folder = shared->folder;
  const std::string name = digest.hex(), unfinished = name + ".unfinished";
  const LockedFile lock(folder.file(name + ".lock"));
  lock_without_slot(lock);
  if (std::optional<std::string> known = read_text_file(folder.file(name))) return std::move(*known);
  std::string text = work();
  folder.write(unfinished, text);
  std::filesystem::rename(folder.file(unfinished), folder.file(name));  // what others find is whole
  return text;
}

}  // namespace uvmsim
