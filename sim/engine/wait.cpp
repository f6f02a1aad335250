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

void WaitList::wait(Time at) {
  Actor& self = scheduler().self();
  waiting_.push_back(&self);
  if (!scheduler().wait_until(at)) std::erase(waiting_, &self);
}

void WaitList::notify_all() {
  for (Actor* actor : waiting_) scheduler().wake(*actor);
  waiting_.clear();
}

std::vector<std::string> WaitList::who_waits_for_what() {
  std::vector<std::string> lines;
  for (const WaitList* place : places())
    for (const Actor* actor : place->waiting_)
      if (!actor->is_daemon()) lines.push_back(actor->name() + " waits for " + place->what_);
  return lines;
}

void Slots::acquire() {
  if (free_ > 0) {
    --free_;
    return;
  }
  waiting_.push(&scheduler().self());
  scheduler().wait_until(kNever);
}

void Slots::release() {
  if (waiting_.empty()) {
    ++free_;
    return;
  }
  scheduler().wake(*waiting_.front());
  waiting_.pop();
}

void WaitGroup::finish(Time at) {
  latest_ = std::max(latest_, at);
  ++finished_;
  if (--pending_ == 0 || finished_ == awaited_) done_.notify_all();
}

void WaitGroup::wait_for(int added) {
  for (awaited_ = added; finished_ < added;) done_.wait();
  awaited_ = 0;
}

Time WaitGroup::wait() {
  while (pending_ > 0) done_.wait();
  return latest_;
}

}  // namespace uvmsim
