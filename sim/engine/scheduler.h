// Simulated threads and their clock. SimGrid knows none of them: it moves the bytes of flows that share a link
// (flows.h).
#pragma once

#include <boost/context/fiber.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <string>
#include <vector>

#include "base/units.h"
#include "gpu/ring.h"

namespace uvmsim {

// A simulated thread: it has a stack of its own and runs until it waits.
class Actor {
 public:
  const std::string& name() const { return name_; }
  // A service: the simulation does not wait for its end.
  bool is_daemon() const { return daemon_; }

 private:
  friend class Scheduler;
  std::string name_;
  bool daemon_ = false;
  bool waiting_ = false;
  bool woken_ = false;       // what ended the last wait
  std::uint64_t waits_ = 0;  // a timer of an earlier wait is void
  std::function<void()> body_;
  boost::context::fiber fiber_;
};

class Scheduler {
 public:
  enum class Kind { Thread, Daemon };
  // What goes on alongside the actors, when none of them can: called with the time of the next timer (kNever: there is
  // none), returns the time that was reached, no later, and has woken whom it concerns then.
  using Advance = std::function<Time(Time next)>;

  Scheduler() = default;
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  Time now() const { return now_; }
  // The actor that runs.
  Actor& self() { return *running_; }

  // A new actor, which first runs when the caller waits, after those that are ready already. The stacks of those that
  // have ended are used again.
  void spawn(std::string name, std::function<void()> body, Kind kind = Kind::Thread);
  // Blocks the running actor until it is woken, or until `at`. Whether it was woken.
  bool wait_until(Time at);
  // Ends the wait of `actor`, which goes on after those that are ready already. No effect when that has just been done.
  void wake(Actor& actor);
  // Lets the wait of `actor` end at `at` and at no other time, unless it is woken. No effect when it has just ended.
  void wake_at(Actor& actor, Time at);

  // Runs until nobody can go on or `stop` is called. False: a thread, not a daemon, still waits.
  bool run(const Advance& advance);
  // Ends `run` from within an actor.
  [[noreturn]] void stop();

 private:
  struct Timer {
    Time at{};
    std::uint64_t number = 0;  // those of one time end in order of their setting
    Actor* actor = nullptr;
    std::uint64_t wait = 0;  // Actor::waits_
    friend bool operator<(const Timer& a, const Timer& b) { return a.at != b.at ? a.at > b.at : a.number > b.number; }
  };
  void live(Actor& actor);
  void resume(Actor& actor);
  void yield();
  void make_ready(Actor& actor, bool woken);
  void set_timer(Actor& actor, Time at);
  Time next_timer();
  void end_waits();

  Time now_{};
  Actor* running_ = nullptr;
  boost::context::fiber outside_;  // of the actors: where `run` goes on
  std::deque<Actor> actors_;
  std::vector<Actor*> ended_;
  Ring<Actor*> ready_;
  std::priority_queue<Timer> timers_;
  std::uint64_t timers_set_ = 0;
  int threads_ = 0;  // that have not ended
  bool stopped_ = false;
};

// The one of this process: a process runs one simulation.
Scheduler& scheduler();

}  // namespace uvmsim
