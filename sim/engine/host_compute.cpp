#include "engine/host_compute.h"

#include "engine/clock.h"

namespace uvmsim {

HostComputeQueue::HostComputeQueue(const std::string& owner, std::unique_ptr<Signal> done)
    : done_(std::move(done)), work_("work on the host threads of " + owner) {
  scheduler().spawn(
      owner + " host compute", [this] { run(); }, Scheduler::Kind::Daemon);
}

StreamPoint HostComputeQueue::push(Duration duration, Time issued, std::vector<StreamPoint> after) {
  queue_.push_back({duration, issued, std::move(after)});
  const StreamPoint end = done_->next();
  work_.notify_all();
  return end;
}

void HostComputeQueue::run() {
  for (;;) {
    while (next_ == queue_.size()) work_.wait();
    const Work work = std::move(queue_[next_]);
    if (++next_ == queue_.size()) queue_.clear(), next_ = 0;
    sleep_until(work.issued);
    for (const StreamPoint& point : work.after) point.wait();
    sleep_until(now() + work.duration);
    ++done_->event->completed;
    done_->event->completed_changed.notify_all();
  }
}

}  // namespace uvmsim
