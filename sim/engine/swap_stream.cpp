#include "engine/swap_stream.h"

#include "engine/clock.h"
#include "engine/coordination.h"

namespace uvmsim {

SwapStream::SwapStream(GpuDevice& gpu, Direction direction, const std::string& owner, EventState& done,
                       Coordination* coordination)
    : gpu_(gpu),
      direction_(direction),
      done_(done),
      coordination_(coordination),
      work_("work on the " + std::string(direction == Direction::In ? "swap-in" : "swap-out") + " stream of " + owner) {
  scheduler().spawn(
      owner + (direction == Direction::In ? " swap in" : " swap out"), [this] { run(); }, Scheduler::Kind::Daemon);
}

StreamPoint SwapStream::push(Bytes size, Time issued, std::vector<StreamPoint> after, Need need, Way way) {
  copies_.push_back({size, issued, std::move(after), need, way});
  ++done_.recorded;
  done_.actions.push_back(need.action);
  const StreamPoint end{&done_, done_.recorded};
  work_.notify_all();
  return end;
}

void SwapStream::run() {
  for (;;) {
    while (next_ == copies_.size()) work_.wait();
    const Copy copy = std::move(copies_[next_]);
    if (++next_ == copies_.size()) copies_.clear(), next_ = 0;
    sleep_until(copy.issued);
    for (const StreamPoint& point : copy.after) point.wait();
    sleep_until(now() + gpu_.spec().copy.method_latency);
    const bool out = direction_ == Direction::Out;
    std::int64_t number = 0;
    if (coordination_ != nullptr)
      number = coordination_->enter({.gpu = gpu_.index(), .out = out, .bytes = copy.size, .awaited = copy.need.awaited},
                                    copy.need.kernel);
    transfer(copy);
    if (coordination_ != nullptr) coordination_->leave(number);
    done_.completed_at.push_back(now());
    ++done_.completed;
    done_.completed_changed.notify_all();
  }
}

const Route& SwapStream::route(int node) const {
  Fabric& fabric = gpu_.services().fabric;
  const GpuIndex gpu = gpu_.index();
  const bool out = direction_ == Direction::Out;
  if (node < 0) return out ? fabric.bulk_from_gpu(gpu) : fabric.bulk_to_gpu(gpu);
  return out ? fabric.from_memory(gpu, node) : fabric.to_memory(gpu, node);
}

void SwapStream::transfer(const Copy& copy) {
  const Bytes size = copy.size;
  const bool out = direction_ == Direction::Out;
  if (copy.way.node >= 0)
    sleep_until(now() + gpu_.services().machine.memories[static_cast<std::size_t>(copy.way.node)].latency);
  const Time start = now();
  const double computed = gpu_.activity().split(start).compute_s;
  const Duration excess = gpu_.services().fabric.transfer(route(copy.way.node), size);
  sleep_until(start + copy.way.codec);
  const Time end = now();
  GpuCounts& counts = gpu_.counts();
  (out ? counts.memcpy_d2h_bytes : counts.memcpy_h2d_bytes) += size.value;
  const auto in_ns = [](Duration d) { return d.count() / 1000; };
  counts.swap_ns += in_ns(end - start);
  counts.swap_overlapped_ns += in_ns(from_seconds(gpu_.activity().split(end).compute_s - computed));
  counts.swap_contention_ns += in_ns(excess);
  if (Observer* observer = gpu_.services().observer)
    observer->copy({.gpu = gpu_.index(), .to_device = !out, .begin = start, .end = end, .bytes = size});
  gpu_.services().history.note(History::Event::Copy, gpu_.index(), end, size.value);
}

}  // namespace uvmsim
