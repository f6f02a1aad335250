#include "engine/gpu_device.h"

#include <algorithm>

#include "base/check.h"
#include "engine/clock.h"

namespace uvmsim {

GpuDevice::GpuDevice(Services& services, GpuIndex index)
    : services_(services),
      index_(index),
      spec_(services.machine.gpus[index]),
      unit_(spec_, &services.walks),
      nap_("the end of its kernel, or a change of its page table"),
      changed_("its bottom half, or a page to be mapped"),
      ahead_wanted_("background work"),
      h2d_(*this, CopyEngine::Direction::HostToDevice),
      d2h_(*this, CopyEngine::Direction::DeviceToHost) {}

PageTable& GpuDevice::pages(int va_space) {
  const auto i = static_cast<std::size_t>(va_space);
  if (i >= pages_.size()) pages_.resize(i + 1);
  if (!pages_[i]) pages_[i] = std::make_unique<PageTable>();
  return *pages_[i];
}

// --- the fault hardware

void GpuDevice::advance(Time at) {
  while (!due_.empty() && due_.front().at <= at) {
    Due due = std::move(due_.front());
    due_.pop_front();
    unit_.advance(due.at);
    for (const PageTableWrite& w : due.writes) write_now(w, due.at);
    if (due.replay) unit_.replay(due.at);
    due.writes.clear();
    spare_due_.push_back(std::move(due));
  }
  unit_.advance(at);
  if (at >= ahead_to_) ahead_ = false;
}

void GpuDevice::look_ahead(Time at) {
  advance(at);
  if (!unit_.buffer().empty()) return;
  ahead_ = shared_;
  if (ahead_) unit_.mark();
  // Replays and page-table writes on their way to it are known: no further than to the first of them.
  Time limit = due_.empty() ? kNever : due_.front().at;
  if (shared_) limit = std::min(limit, at + horizon_);
  looked_at_ = at;
  unit_.advance_to_fault(limit);
  ahead_to_ = unit_.ended() ? unit_.end() : unit_.buffer().empty() ? limit : unit_.now();
}

bool GpuDevice::revoke_look_ahead() {
  constexpr Duration kLeast = nanoseconds(1000);  // so that it gets anywhere
  if (!ahead_) return false;
  unit_.go_back();
  ahead_ = false;
  horizon_ = std::min(most_ahead_, std::max(kLeast, 2 * (now() - looked_at_)));
  return true;
}

void GpuDevice::tell_changed() {
  nap_.notify_all();
  changed_.notify_all();
}

bool GpuDevice::undisturbed_until(Time at) {
  while (ahead_ && now() < at) nap_.wait(at);
  return ahead_;
}

bool GpuDevice::sleep_unless_changed(Time at) {
  if (!shared_) {
    sleep_until(at);
    return true;
  }
  const bool undisturbed = undisturbed_until(at);
  ahead_ = false;
  return undisturbed;
}

bool GpuDevice::wait_for_fault() {
  const Ring<BufferedFault>& buffer = unit_.buffer();
  while (shared_ && !buffer.empty() && now() < buffer.front().visible) nap_.wait(buffer.front().visible);
  return !buffer.empty();
}

void GpuDevice::wait_for_more() {
  if (ahead_to_ == kNever) {
    changed_.wait();
  } else if (sleep_unless_changed(ahead_to_)) {
    horizon_ = std::min(most_ahead_, 2 * horizon_);
  }
}

void GpuDevice::write_now(const PageTableWrite& w, Time at) {
  using Permission = PageTableWrite::Permission;
  PageTable& table = pages(w.va_space);
  if (w.permission == Permission::None) {
    unit_.unmap(table, w.frame, w.pages, at);
  } else {
    unit_.map(table, w.frame, w.pages, w.permission == Permission::ReadWrite, w.remote, at);
  }
}

void GpuDevice::apply(const PageTableWrite& w, Time at) {
  const bool revoked = revoke_look_ahead();
  advance(at);
  supersede(w);
  write_now(w, at);
  if (revoked) tell_changed();
}

// A prefetch runs ahead of its copies and may evict what it has not mapped yet.
void GpuDevice::supersede(const PageTableWrite& w) {
  const auto drop = [&w](std::vector<PageTableWrite>& writes) {
    for (PageTableWrite& earlier : writes)
      if (earlier.frame == w.frame && earlier.va_space == w.va_space && earlier.gpu == w.gpu) earlier.pages -= w.pages;
  };
  for (const auto& gpu : services_.gpus)
    for (const auto& chain : gpu->chains_) drop(chain->map);
  for (Due& due : due_) drop(due.writes);
}

void GpuDevice::insert_due(Due due) {
  UVMSIM_CHECK(due.at >= now(), "something is done to a GPU in its past");
  const bool revoked = revoke_look_ahead();
  auto later = due_.end();
  while (later != due_.begin() && std::prev(later)->at > due.at) --later;
  due_.insert(later, std::move(due));
  if (revoked) tell_changed();
}

void GpuDevice::apply_later(std::vector<PageTableWrite>& writes, Time at) {
  if (writes.empty()) return;
  Due due;
  if (!spare_due_.empty()) {
    due = std::move(spare_due_.back());
    spare_due_.pop_back();
  }
  due.at = at;
  due.replay = false;
  due.writes.swap(writes);
  insert_due(std::move(due));
}

void GpuDevice::replay_later(Time at) {
  ++counts_.replays;
  services_.history.note(History::Event::Replay, index_, at, 0);
  insert_due({at, {}, true});
}

// --- what observers see

void GpuDevice::observe_residency() {
  if (services_.observer != nullptr) tell_residency(*services_.observer);
}

void GpuDevice::tell_residency(Observer& observer) {
  const Time at = now();
  observer.resident(index_, at, services_.driver.resident_bytes(index_));
  const std::span<const TensorRange> wanted = observer.residency_wanted(index_, at);
  if (wanted.empty()) return;
  std::vector<std::int64_t> bytes;
  for (const TensorRange& range : wanted) {
    std::int64_t pages = 0;
    const PageNumber outer = page_of(range.end - 1) + 1;
    for (PageNumber page = page_of(range.begin); page < outer;) {
      const FrameIndex frame = frame_of(page);
      const PageNumber next = std::min(outer, first_page_of(frame + 1));
      const PageRegion region{page - first_page_of(frame), next - first_page_of(frame)};
      pages += (services_.driver.resident(0, frame, ProcessorId::gpu(index_)) & PageMask::of(region)).count();
      page = next;
    }
    bytes.push_back(pages * kPageBytes);
  }
  observer.residency(index_, at, bytes);
}

// --- work of the driver

Chain& GpuDevice::new_chain(WaitGroup& group) {
  if (free_chains_.empty()) {
    chains_.push_back(std::make_unique<Chain>());
    free_chains_.push_back(chains_.back().get());
  }
  Chain& chain = *free_chains_.back();
  free_chains_.pop_back();
  chain.clear();
  chain.gpu = this;
  chain.group = &group;
  chain.batch = group.batch();
  chain.background = group.background();
  group.add();
  return chain;
}

void GpuDevice::count_copy(const BlockCopy& copy) {
  GpuCounts& c =
      copy.to.is_cpu() ? services_.gpus[copy.from.gpu_index()]->counts_ : services_.gpus[copy.to.gpu_index()]->counts_;
  c.copy_methods += copy.methods;
  if (copy.from.is_cpu()) {
    c.h2d_bytes += copy.bytes.value;
    c.h2d_copies += copy.copies;
  } else if (copy.to.is_cpu()) {
    c.d2h_bytes += copy.bytes.value;
    c.d2h_copies += copy.copies;
  } else {
    c.peer_bytes += copy.bytes.value;
  }
}

void GpuDevice::push_copy(Chain& chain, const BlockCopy& copy, bool eviction) {
  count_copy(copy);
  chain.copies.push_back({copy, eviction});
  // The GPU that owns the engine: the destination pulls from the host, the source pushes to host or peer.
  GpuDevice& owner = *services_.gpus[copy.from.is_cpu() ? copy.to.gpu_index() : copy.from.gpu_index()];
  owner.engine(copy.from.is_cpu() ? CopyEngine::Direction::HostToDevice : CopyEngine::Direction::DeviceToHost)
      .push(chain, chain.copies.size() - 1);
}

void GpuDevice::begin_chain(const EvictionWork& eviction, Chain& chain, Duration& debt) {
  sleep_until(now() + debt + eviction.cpu);
  debt = Duration{0};
  const Time at = now();
  for (const PageTableWrite& w : eviction.unmap) services_.gpus[w.gpu.gpu_index()]->apply(w, at);
  ++counts_.evicted_chunks;
  counts_.evicted_bytes += eviction.bytes.value;
  services_.history.note(History::Event::Eviction, index_, at, eviction.bytes.value);
  if (services_.observer != nullptr)
    services_.observer->eviction({.gpu = index_, .at = at, .bytes = eviction.bytes, .batch = chain.batch});
  for (const BlockCopy& copy : eviction.copies) push_copy(chain, copy, true);
}

bool GpuDevice::wait_for_frame(int va_space, FrameIndex frame, Duration& debt) {
  if (!in_flight().contains(va_space, frame)) return false;
  sleep_until(now() + debt);
  debt = Duration{0};
  in_flight().wait_for(va_space, frame);
  return true;
}

// The driver has decided that these pages are gone, and the GPUs do not know yet: whoever serviced them meanwhile would
// map what is unmapped thereafter.
void GpuDevice::set_leaving(std::span<const PageTableWrite> unmap, Frames& frames) {
  if (!shared_) return;
  for (const PageTableWrite& w : unmap) {
    in_flight().add(w.va_space, w.frame);
    frames.emplace_back(w.va_space, w.frame);
  }
}

void GpuDevice::set_left(const Frames& frames) {
  for (const auto& [va_space, frame] : frames) in_flight().remove(va_space, frame);
}

void GpuDevice::perform_eviction(const EvictionWork& eviction, Duration& debt, WaitGroup& group) {
  Frames leaving;
  set_leaving(eviction.unmap, leaving);
  Chain& chain = new_chain(group);
  begin_chain(eviction, chain, debt);
  set_left(leaving);
  close_chain(chain);
}

void GpuDevice::perform(BlockWork& work, Duration& debt, WaitGroup& group) {
  if (work.out_of_memory)
    services_.stop(Outcome::OutOfMemory, "GPU " + std::to_string(index_.value) +
                                             ": every root chunk is in use by the operation itself or by cudaMalloc");
  if (work.host_out_of_memory)
    services_.stop(Outcome::HostOutOfMemory, "the pages evicted or first touched by the host exceed host memory");
  Frames leaving;
  for (const EvictionWork& eviction : work.evictions) set_leaving(eviction.unmap, leaving);
  set_leaving(work.unmap, leaving);
  Chain& chain = new_chain(group);
  for (const EvictionWork& eviction : work.evictions) begin_chain(eviction, chain, debt);
  debt += work.cpu;
  const bool visible = !work.unmap.empty() || !work.copies.empty() || !work.map.empty() || !work.evictions.empty();
  if (visible) {
    sleep_until(now() + debt);
    debt = Duration{0};
    const Time at = now();
    for (const PageTableWrite& w : work.unmap) services_.gpus[w.gpu.gpu_index()]->apply(w, at);
  }
  set_left(leaving);
  if (!work.destination.is_cpu() && work.zeroed.value > 0) {
    chain.zero = transfer_time(work.zeroed, spec_.copy.zero_bandwidth);
    counts_.zeroed_bytes += work.zeroed.value;
  }
  counts_.populated_bytes += work.populated.value;
  counts_.prefetched_bytes += work.prefetched.value;
  chain.map.swap(work.map);
  for (const BlockCopy& copy : work.copies) push_copy(chain, copy, false);
  close_chain(chain);
  if (work.serviced) services_.history.note(History::Event::Block, index_, now(), work.faults_serviced);
  ahead_wanted_.notify_all();
}

void GpuDevice::close_chain(Chain& chain) {
  chain.closed = true;
  if (chain.done == chain.copies.size()) {
    finish_chain(chain, std::max(now(), chain.ready) + chain.zero);
    return;
  }
  // The evictions may have ended while the CPU was still at work.
  if (!chain.copies[chain.done].eviction) {
    chain.ready = std::max(chain.ready, now()) + chain.zero;
    chain.zero = Duration{0};
  }
}

void GpuDevice::copy_done(Chain& chain) {
  ++chain.done;
  chain.ready = now();
  if (!chain.closed) return;
  if (chain.done == chain.copies.size()) {
    finish_chain(chain, chain.ready + chain.zero);
    return;
  }
  if (!chain.copies[chain.done].eviction) {
    chain.ready += chain.zero;
    chain.zero = Duration{0};
  }
  const BlockCopy& next = chain.copies[chain.done].copy;
  GpuDevice& owner = *services_.gpus[next.from.is_cpu() ? next.to.gpu_index() : next.from.gpu_index()];
  owner.engine(next.from.is_cpu() ? CopyEngine::Direction::HostToDevice : CopyEngine::Direction::DeviceToHost)
      .chain_advanced();
}

void GpuDevice::finish_chain(Chain& chain, Time at) {
  if (!chain.map.empty()) {
    at += spec_.driver_costs.pte_update;
    // Writes of several GPUs (accessed-by) take effect together.
    for (const PageTableWrite& w : chain.map) {
      if (w.gpu.gpu_index() == index_) continue;
      std::vector<PageTableWrite> one{w};
      services_.gpus[w.gpu.gpu_index()]->apply_later(one, at);
    }
    std::erase_if(chain.map, [&](const PageTableWrite& w) { return w.gpu.gpu_index() != index_; });
    apply_later(chain.map, at);
  }
  WaitGroup* group = chain.group;
  chain.gpu->free_chains_.push_back(&chain);
  group->finish(at);
}

}  // namespace uvmsim
