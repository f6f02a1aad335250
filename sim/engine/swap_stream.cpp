#include "engine/swap_stream.h"

#include "engine/clock.h"

namespace uvmsim {

SwapStream::SwapStream(GpuDevice& gpu, Direction direction, const std::string& owner, EventState& done)
    : gpu_(gpu),
      direction_(direction),
      done_(done),
      work_("work on the " + std::string(direction == Direction::In ? "swap-in" : "swap-out") + " stream of " + owner) {
  simgrid::s4u::Actor::create(owner + (direction == Direction::In ? " swap in" : " swap out"),
                              gpu.services().fabric.host_of(gpu.index()), [this] { run(); })
      ->daemonize();
}

StreamPoint SwapStream::push(Bytes size, Time issued, std::vector<StreamPoint> after) {
  copies_.push_back({size, issued, std::move(after)});
  ++done_.recorded;
  const StreamPoint end{&done_, done_.recorded};
  work_.notify_all();
  return end;
}

void SwapStream::run() {
  Fabric& fabric = gpu_.services().fabric;
  for (;;) {
    while (next_ == copies_.size()) work_.wait();
    const Copy copy = std::move(copies_[next_]);
    if (++next_ == copies_.size()) copies_.clear(), next_ = 0;
    sleep_until(copy.issued);
    for (const StreamPoint& point : copy.after) point.wait();
    sleep_until(now() + gpu_.spec().copy.method_latency);
    if (direction_ == Direction::In) {
      fabric.transfer(fabric.bulk_to_gpu(gpu_.index()), copy.size);
      gpu_.counts().memcpy_h2d_bytes += copy.size.value;
    } else {
      fabric.transfer(fabric.bulk_from_gpu(gpu_.index()), copy.size);
      gpu_.counts().memcpy_d2h_bytes += copy.size.value;
    }
    gpu_.services().history.note(History::Event::Copy, gpu_.index(), now(), copy.size.value);
    ++done_.completed;
    done_.completed_changed.notify_all();
  }
}

}  // namespace uvmsim
