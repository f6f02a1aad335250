// Actors waiting for each other, with the reason: a deadlock is reported as who waits for what.
#pragma once

#include <string>
#include <vector>

#include "base/units.h"
#include "engine/scheduler.h"

namespace uvmsim {

// A place where actors wait until somebody notifies them. Waits in no particular place but these (and in
// sleeps and copies, which end by themselves).
class WaitList {
 public:
  // `what` completes the sentence "<actor> waits for ...".
  explicit WaitList(std::string what);
  ~WaitList();
  WaitList(const WaitList&) = delete;
  WaitList& operator=(const WaitList&) = delete;

  // Blocks the calling actor until `notify_all`, or until `at`.
  void wait(Time at = kNever);
  // Those who wait go on in the order in which they came, once the caller waits.
  void notify_all();
  bool empty() const { return waiting_.empty(); }

  // One line per waiting actor of this process, in the order of the places' creation.
  static std::vector<std::string> who_waits_for_what();

 private:
  std::string what_;
  std::vector<Actor*> waiting_;
};

// Places for this many at once; who finds none waits, first come, first served.
class Slots {
 public:
  explicit Slots(int free) : free_(free) {}
  void acquire();
  void release();

 private:
  int free_;
  Ring<Actor*> waiting_;
};

// Counts work in progress; remembers when the last of it was complete, which may lie in the future.
class WaitGroup {
 public:
  explicit WaitGroup(std::string what) : done_(std::move(what)) {}
  void add() { ++pending_; }
  void finish(Time at);
  bool idle() const { return pending_ == 0; }
  // Blocks until nothing is pending. Returns when the work was, or will be, complete.
  Time wait();
  // How much was added since the reset, and a wait until as much is finished: copies of one engine are in that order.
  int added() const { return finished_ + pending_; }
  void wait_for(int added);
  // `batch`: the fault batch that the work is for, for observers; 0: none.
  void reset(Time now, std::int64_t batch = 0) {
    latest_ = now;
    batch_ = batch;
    finished_ = 0;
  }
  std::int64_t batch() const { return batch_; }
  // The work is nobody's fault: its copies to the host count as no fault batch's evictions.
  void set_background() { background_ = true; }
  bool background() const { return background_; }

 private:
  int pending_ = 0, finished_ = 0;
  int awaited_ = 0;  // somebody waits for so many to be finished
  Time latest_{};
  std::int64_t batch_ = 0;
  bool background_ = false;
  WaitList done_;
};

}  // namespace uvmsim
