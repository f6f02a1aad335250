#include "engine/scheduler.h"

#include <boost/context/protected_fixedsize_stack.hpp>
#include <memory>

#include "base/check.h"

namespace uvmsim {
namespace {

constexpr std::size_t kStackBytes = 1 << 20;  // of which only what is used takes memory

}  // namespace

void Scheduler::spawn(std::string name, std::function<void()> body, Kind kind) {
  namespace context = boost::context;
  const bool anew = ended_.empty();
  if (anew) actors_.emplace_back();
  Actor& actor = anew ? actors_.back() : *ended_.back();
  if (!anew) ended_.pop_back();
  actor.name_ = std::move(name);
  actor.body_ = std::move(body);
  actor.daemon_ = kind == Kind::Daemon;
  actor.waiting_ = true;
  if (!actor.daemon_) ++threads_;
  if (anew)
    actor.fiber_ = context::fiber(std::allocator_arg, context::protected_fixedsize_stack(kStackBytes),
                                  [this, &actor](context::fiber&& outside) {
                                    outside_ = std::move(outside);
                                    live(actor);
                                    return context::fiber();
                                  });
  make_ready(actor, true);
}

// One body after the other, on the same stack.
void Scheduler::live(Actor& actor) {
  for (;;) {
    actor.body_();
    actor.body_ = nullptr;
    if (!actor.daemon_) --threads_;
    ended_.push_back(&actor);
    yield();
  }
}

void Scheduler::resume(Actor& actor) {
  running_ = &actor;
  actor.fiber_ = std::move(actor.fiber_).resume();
  running_ = nullptr;
}

void Scheduler::yield() { outside_ = std::move(outside_).resume(); }

void Scheduler::make_ready(Actor& actor, bool woken) {
  actor.waiting_ = false;
  actor.woken_ = woken;
  ready_.push(&actor);
}

void Scheduler::set_timer(Actor& actor, Time at) {
  if (at != kNever) timers_.push({at, timers_set_++, &actor, actor.waits_});
}

bool Scheduler::wait_until(Time at) {
  Actor& actor = self();
  ++actor.waits_;
  actor.waiting_ = true;
  set_timer(actor, at);
  yield();
  return actor.woken_;
}

void Scheduler::wake(Actor& actor) {
  if (actor.waiting_) make_ready(actor, true);
}

void Scheduler::wake_at(Actor& actor, Time at) {
  if (!actor.waiting_) return;
  ++actor.waits_;
  set_timer(actor, at);
}

Time Scheduler::next_timer() {
  const auto is_void = [](const Timer& t) { return !t.actor->waiting_ || t.wait != t.actor->waits_; };
  while (!timers_.empty() && is_void(timers_.top())) timers_.pop();
  return timers_.empty() ? kNever : timers_.top().at;
}

void Scheduler::end_waits() {
  while (next_timer() <= now_) {
    Actor& actor = *timers_.top().actor;
    timers_.pop();
    make_ready(actor, false);
  }
}

bool Scheduler::run(const Advance& advance) {
  for (;;) {
    while (!ready_.empty() && !stopped_) {
      Actor& actor = *ready_.front();
      ready_.pop();
      resume(actor);
    }
    if (stopped_) return true;
    const Time reached = advance(next_timer());
    if (reached == kNever) return threads_ == 0;
    now_ = reached;
    end_waits();
  }
}

void Scheduler::stop() {
  stopped_ = true;
  yield();
  UVMSIM_CHECK(false, "no actor goes on after the end");
}

Scheduler& scheduler() {
  static Scheduler* const of_this_process = new Scheduler;  // never destroyed: actors' stacks refer to it
  return *of_this_process;
}

}  // namespace uvmsim
