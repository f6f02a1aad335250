// What a program does on the CPU: the steps of its issuing thread, and the threads next to that one.
#pragma once

#include <deque>
#include <string>

#include "engine/stream.h"

namespace uvmsim {

// Runs the steps of one host thread: each takes its duration, or what touching its memory takes if that is longer,
// after the page faults of its managed memory.
class HostSteps {
 public:
  HostSteps(ProcessContext& process, const std::string& thread)
      : process_(process), chains_("the copies of a call of " + thread) {}
  // Blocks the calling actor until the step is done.
  void run(const op::HostStep& step);

 private:
  void fault(const Operand& operand);

  ProcessContext& process_;
  WaitGroup chains_;
};

// A host thread that issues nothing: an actor that does the steps it is handed, one at a time and in order.
class HostWorker {
 public:
  // Of a worker, how many of its steps are to be done.
  struct Point {
    const HostWorker* worker = nullptr;  // nullptr: nothing is
    std::int64_t steps = 0;
    // Blocks the calling actor.
    void wait() const;
  };

  HostWorker(ProcessContext& process, std::int32_t thread, const std::string& name);

  // A step that the issuing thread comes to at `at`; it starts after `after`.
  void hand(const op::HostStep& step, Time at, Point after);
  // No more steps will come.
  void close();
  // All steps handed so far but for the `left` latest.
  Point point(std::int32_t left) const { return {this, handed_ - left}; }

 private:
  struct Entry {
    const op::HostStep* step = nullptr;
    Time at{};
    Point after;
  };
  void run();

  ProcessContext& process_;
  const std::int32_t thread_;
  HostSteps steps_;
  std::deque<Entry> queue_;
  std::int64_t handed_ = 0, done_ = 0;
  bool closed_ = false;
  WaitList work_;
  mutable WaitList step_done_;
};

}  // namespace uvmsim
