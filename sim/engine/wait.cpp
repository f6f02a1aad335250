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
  waiting_.push_back(simgrid::s4u::Actor::self());
  simgrid::s4u::this_actor::suspend();
}

void WaitList::notify_all() {
  if (waiting_.empty()) return;
  woken_.swap(waiting_);
  for (const simgrid::s4u::ActorPtr& actor : woken_) actor->resume();
  woken_.clear();
}

std::vector<std::string> WaitList::who_waits_for_what() {
  std::vector<std::string> lines;
  for (const WaitList* place : places())
    for (const simgrid::s4u::ActorPtr& actor : place->waiting_)
      if (!actor->is_daemon()) lines.push_back(std::string(actor->get_cname()) + " waits for " + place->what_);
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
