#include "engine/host_compute.h"

#include "engine/clock.h"

namespace uvmsim {

HostComputeQueue::HostComputeQueue(const std::string& owner, std::unique_ptr<Signal> done, HostCores& cores)
    : done_(std::move(done)), cores_(cores), work_("work on the host threads of " + owner) {
  scheduler().spawn(
      owner + " host compute", [this] { run(); }, Scheduler::Kind::Daemon);
}

StreamPoint HostComputeQueue::push(const Work& work, Time issued, std::vector<StreamPoint> after) {
  queue_.push_back({work, issued, std::move(after)});
  const StreamPoint end = done_->next();
  work_.notify_all();
  return end;
}

void HostComputeQueue::run() {
  for (;;) {
    while (next_ == queue_.size()) work_.wait();
    const Queued next = std::move(queue_[next_]);
    if (++next_ == queue_.size()) queue_.clear(), next_ = 0;
    sleep_until(next.issued);
    for (const StreamPoint& point : next.after) point.wait();
    const Time stored = now() + next.work.storage;
    cores_.run(next.work.threads, next.work.cores);
    sleep_until(stored);
    ++done_->event->completed;
    done_->event->completed_changed.notify_all();
  }
}

}  // namespace uvmsim
