#include "engine/ahead_thread.h"

#include <utility>
#include <vector>

#include "engine/clock.h"

namespace uvmsim {

AheadThread::AheadThread(GpuDevice& gpu, const BottomHalf& bottom_half, Kind kind)
    : gpu_(gpu), bottom_half_(bottom_half), kind_(kind), chains_("the copies of its background work") {
  chains_.set_background();
  const std::string name = "gpu" + std::to_string(gpu.index().value) +
                           (kind == Kind::Evict ? " background eviction" : " background prefetch");
  scheduler().spawn(
      name, [this] { run(); }, Scheduler::Kind::Daemon);
}

AheadWork& AheadThread::wait_for_work() {
  UvmDriver& driver = gpu_.services().driver;
  for (;;) {
    while (kind_ == Kind::Prefetch && bottom_half_.servicing()) gpu_.ahead_wanted().wait();
    AheadWork* work = kind_ == Kind::Evict ? driver.evict_ahead(gpu_.index()) : driver.prefetch_ahead(gpu_.index());
    if (work != nullptr) return *work;
    gpu_.ahead_wanted().wait();
  }
}

void AheadThread::run() {
  for (;;) {
    AheadWork& ahead = wait_for_work();
    // What it evicts, too: a fault there is serviced after the pages are unmapped, not before.
    std::vector<std::pair<int, FrameIndex>> frames = {{ahead.va_space, ahead.frame}};
    for (const EvictionWork& eviction : ahead.work.evictions)
      for (const PageTableWrite& write : eviction.unmap) frames.emplace_back(write.va_space, write.frame);
    for (const auto& [va_space, frame] : frames) gpu_.in_flight().add(va_space, frame);
    // A frame that is on its way out comes back after it has left.
    if (kind_ == Kind::Prefetch) gpu_.in_flight().wait_for_others(ahead.va_space, ahead.frame);
    Duration debt{0};
    chains_.reset(now());
    gpu_.perform(ahead.work, debt, chains_);
    sleep_until(now() + debt);
    sleep_until(chains_.wait());
    gpu_.advance(now());
    gpu_.services().driver.finish_ahead(gpu_.index(), ahead);
    for (const auto& [va_space, frame] : frames) gpu_.in_flight().remove(va_space, frame);
  }
}

}  // namespace uvmsim
