#include "engine/wait.h"

#include <algorithm>

namespace uvmsim {
namespace {

// Every place of the one simulation of this process, for the deadlock report.
std::vector<WaitList*>& places() {
  static std::vector<WaitList*> all;
  return all;
}

}  // namespace

WaitList::WaitList(std::string what) : what_(std::move(what)) { places().push_back(this); }
WaitList::~WaitList() { std::erase(places(), this); }

void WaitList::wait() {
  simgrid::s4u::SemaphorePtr woken;
  if (spare_.empty()) {
    woken = simgrid::s4u::Semaphore::create(0);
  } else {
    woken = std::move(spare_.back());
    spare_.pop_back();
  }
  waiting_.push_back({simgrid::s4u::Actor::self(), woken});
  woken->acquire();
  spare_.push_back(std::move(woken));
}

void WaitList::notify_all() {
  std::vector<Waiter> notified;
  notified.swap(waiting_);
  for (const Waiter& waiter : notified) waiter.woken->release();
}

std::vector<std::string> WaitList::who_waits_for_what() {
  std::vector<std::string> lines;
  for (const WaitList* place : places())
    for (const Waiter& waiter : place->waiting_)
      if (!waiter.actor->is_daemon())
        lines.push_back(std::string(waiter.actor->get_cname()) + " waits for " + place->what_);
  return lines;
}

void WaitGroup::finish(Time at) {
  latest_ = std::max(latest_, at);
  if (--pending_ == 0) done_.notify_all();
}

Time WaitGroup::wait() {
  while (pending_ > 0) done_.wait();
  return latest_;
}

}  // namespace uvmsim
