// The cores of a server's processors, shared by the work that its GPUs leave to the CPU.
#pragma once

#include <vector>

#include "base/units.h"
#include "engine/scheduler.h"

namespace uvmsim {

// Every thread that can run has an equal share of the cores, and one core at most: the ideal processor that Linux's
// scheduler approximates (Documentation/scheduler/sched-design-CFS.rst: each task at 1/nr_running of its speed).
class HostCores {
 public:
  // 0: as many as there are threads.
  explicit HostCores(int count) : count_(count) {}
  HostCores(const HostCores&) = delete;
  HostCores& operator=(const HostCores&) = delete;

  // Work of `threads` threads that takes `duration` with a core for each. Blocks the calling actor until it is done.
  void run(int threads, Duration duration);

 private:
  struct Work {
    Actor* actor = nullptr;
    int threads = 1;
    double left = 0;  // picoseconds with a core for each thread
    Time end{};       // as the cores are shared now
  };
  void account();
  void share();

  const int count_;
  std::vector<Work*> works_;
  double speed_ = 1;  // of every thread, in cores
  Time shared_at_{};
};

}  // namespace uvmsim
