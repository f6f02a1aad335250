#include "engine/host_cores.h"

#include <algorithm>
#include <cmath>

#include "engine/clock.h"

namespace uvmsim {

void HostCores::run(int threads, Duration duration) {
  Work work{.actor = &scheduler().self(), .threads = threads, .left = static_cast<double>(duration.count())};
  account();
  works_.push_back(&work);
  share();
  while (now() < work.end) scheduler().wait_until(work.end);
  account();
  std::erase(works_, &work);
  share();
}

// To be called before the number of threads changes.
void HostCores::account() {
  const double done = speed_ * static_cast<double>((now() - shared_at_).count());
  for (Work* work : works_) work->left = std::max(0.0, work->left - done);
  shared_at_ = now();
}

void HostCores::share() {
  int threads = 0;
  for (const Work* work : works_) threads += work->threads;
  speed_ = count_ == 0 || threads <= count_ ? 1 : static_cast<double>(count_) / threads;
  for (Work* work : works_) {
    work->end = now() + Duration{std::llround(work->left / speed_)};
    if (work->actor != &scheduler().self()) scheduler().wake_at(*work->actor, work->end);
  }
}

}  // namespace uvmsim
