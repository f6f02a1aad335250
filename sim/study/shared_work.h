// What the processes of one command share: work that one of them has done, and cores.
#pragma once

#include <functional>
#include <string>

namespace uvmsim {

// While one lives, a piece of work that this process or a child of it has done is not done again by another, and at
// most `slots` of the children that take a WorkSlot work at a time. Create it before the children.
class SharedWork {
 public:
  explicit SharedWork(int slots);
  ~SharedWork();
  SharedWork(const SharedWork&) = delete;
  SharedWork& operator=(const SharedWork&) = delete;

  static bool lives();
};

// This process, its solver and its simulations are one worker while it lives. Waits for a slot that is free; slots of
// processes that died are free. At most one in a process.
class WorkSlot {
 public:
  WorkSlot();
  ~WorkSlot();
  WorkSlot(const WorkSlot&) = delete;
  WorkSlot& operator=(const WorkSlot&) = delete;
};

// What `work` returns; from another process that did the work of the same key, if one did. While one does it, this one
// waits, and others have its slot. What `work` throws is not shared. Not within `work`. Without a SharedWork: work().
std::string done_once(const std::string& key, const std::function<std::string()>& work);

}  // namespace uvmsim
