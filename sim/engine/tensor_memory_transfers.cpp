// How tensors move and where their bytes come from.
#include <algorithm>

#include "engine/clock.h"
#include "engine/swap_executor.h"

namespace uvmsim {

// --- transfers

void SwapExecutor::move_out(Tensor& t, Sync sync, bool release, bool awaited, Time issued) {
  if (!t.clean) {
    std::vector<StreamPoint> after = t.waits;
    after.push_back(t.used);
    after.push_back(last_launch_);  // the moment on the GPU that the host has come to
    t.copied = out_->push(Bytes{t.bytes}, issued, std::move(after), {.awaited = awaited || sync == Sync::Host});
    t.clean = true;
  }
  if (release) {
    t.state = State::Absent;
    t.clean = false;
    t.waits.clear();
    bytes_.release(t.bytes, {t.copied}, sync);
  }
  if (sync == Sync::Host) host_waits(t.copied);
  if (sync == Sync::Layer) layer_waits_.push_back(t.copied);
}

void SwapExecutor::drop(Tensor& t) {
  std::vector<StreamPoint> after = std::exchange(t.waits, {});
  after.push_back(t.used);
  bytes_.release(t.bytes, std::move(after), Sync::Stream);
  t.state = State::Dropped;
}

bool SwapExecutor::move_in(Tensor& t, Sync sync, bool forced, std::int64_t needed_by, std::vector<StreamPoint> after,
                           Time issued) {
  std::vector<StreamPoint> waits;
  if (forced) {
    obtain(t.bytes, nullptr, waits, issued);
  } else {
    while (!bytes_.take(t.bytes, nullptr, waits)) {
      const auto point = sync == Sync::Alloc || sync == Sync::Host ? bytes_.to_wait_for(false) : std::nullopt;
      if (!point) return false;
      host_waits(*point);
    }
  }
  const bool dropped = std::exchange(t.state, State::Resident) == State::Dropped;
  t.clean = false;
  if (dropped) {
    t.waits = std::move(waits);
    return true;
  }
  after.insert(after.end(), waits.begin(), waits.end());
  after.push_back(t.copied);
  const StreamPoint arrived = in_->push(Bytes{t.bytes}, issued, std::move(after),
                                        {.awaited = forced || sync == Sync::Host, .kernel = needed_by});
  t.waits = {arrived};
  if (sync == Sync::Host) host_waits(arrived);
  if (sync == Sync::Layer) layer_waits_.push_back(arrived);
  return true;
}

void SwapExecutor::retry_deferred(Time issued) {
  std::size_t done = 0;
  for (; done < deferred_.size(); ++done) {
    const Deferred& d = deferred_[done];
    Tensor* t = tensor_at(d.tensor);
    if (t != nullptr && t->state == State::Absent && !move_in(*t, d.sync, false, d.needed_by, {last_launch_}, issued))
      break;
  }
  deferred_.erase(deferred_.begin(), deferred_.begin() + static_cast<std::ptrdiff_t>(done));
}

// --- memory

void SwapExecutor::obtain(std::int64_t bytes, const EventState* own, std::vector<StreamPoint>& waits, Time issued) {
  for (bool any = false; !bytes_.take(bytes, own, waits);) {
    if (const auto point = bytes_.to_wait_for(any)) {
      host_waits(*point);
    } else if (!reclaim(bytes, issued)) {
      if (any)
        process_.services.stop(Outcome::OutOfMemory, "GPU " + std::to_string(gpu_.index()) + " has no room for " +
                                                         std::to_string(bytes) +
                                                         " bytes: everything else there is in use");
      any = true;
    }
  }
}

// Copies tensors out that nothing needs now; the host waits for the copies, which wait for all work issued.
bool SwapExecutor::reclaim(std::int64_t bytes, Time issued) {
  const Reclaim how = schedule_ == nullptr ? Reclaim::Lms : schedule_->plan->reclaim;
  if (how == Reclaim::None) return false;
  std::vector<Tensor*> idle;
  for (auto& [address, t] : tensors_)
    if (t.state == State::Resident && !t.pinned) idle.push_back(&t);
  std::ranges::stable_sort(idle, {}, &Tensor::idle_since);
  if (how == Reclaim::Lms) {
    const auto large = std::ranges::find_if(idle, [&](const Tensor* t) { return t->bytes >= bytes; });
    if (large != idle.end()) idle = {*large};
  }
  std::int64_t found = 0;
  StreamPoint last;
  for (Tensor* t : idle) {
    if (found >= bytes) break;
    found += t->bytes;
    if (t->ordinal >= 0) reclaimed_.insert({t->ordinal, t->last_kernel});
    move_out(*t, Sync::Alloc, true, true, issued);
    last = t->copied;
  }
  if (found > 0) host_waits(last);
  return found > 0;
}

void SwapExecutor::host_waits(const StreamPoint& point) {
  if (point.reached()) return;
  gpu_.activity().raise(ActivityClock::Transfer, now());
  point.wait();
  gpu_.activity().lower(ActivityClock::Transfer, now());
}

}  // namespace uvmsim
