#include "engine/bottom_half.h"

#include <algorithm>

#include "base/check.h"
#include "engine/clock.h"

namespace uvmsim {
namespace {

// uvm_perf_fault_replay_policy. Driver: uvm_perf_fault_replay_policy_t.
enum ReplayPolicy { kBlock = 0, kBatch = 1, kBatchFlush = 2, kOnce = 3 };

std::string name_of(const GpuDevice& gpu) { return "gpu" + std::to_string(gpu.index().value) + " bottom half"; }

}  // namespace

BottomHalf::BottomHalf(GpuDevice& gpu)
    : gpu_(gpu),
      work_("an interrupt"),
      chains_("the copies of its fault batch"),
      moves_("the copies that access counters asked for") {
  moves_.set_background();
  scheduler().spawn(
      name_of(gpu), [this] { run(); }, Scheduler::Kind::Daemon);
}

void BottomHalf::interrupt() {
  idle_ = false;
  raised_ = std::max(now(), gpu_.fault_unit().buffer().front().visible);
  gpu_.activity().batch_begins(raised_);
  work_.notify_all();
}

void BottomHalf::run() {
  for (;;) {
    if (gpu_.services().driver.notified(gpu_.index())) {
      service_notifications();
    } else if (!idle_) {
      service_interrupt();
      idle_ = true;
      gpu_.changed().notify_all();
    } else {
      work_.wait();
    }
  }
}

// From an interrupt at `raised` to the bottom half running.
Duration BottomHalf::interrupt_latency(Time raised) const {
  const DriverCosts& costs = gpu_.spec().driver_costs;
  return costs.interrupt + (raised - idle_since_ >= costs.wakeup_after ? costs.wakeup : Duration{0});
}

void BottomHalf::service_notifications() {
  UvmDriver& uvm = gpu_.services().driver;
  const DriverCosts& costs = gpu_.spec().driver_costs;
  sleep_until(now() + interrupt_latency(now()));
  while (uvm.notified(gpu_.index())) {
    const std::vector<AccessNotification> batch = uvm.fetch_notifications(gpu_.index());
    // What a fetch and an entry cost is taken from replayable faults (assumed).
    Duration debt = costs.batch + costs.raw_entry * static_cast<std::int64_t>(batch.size());
    moves_.reset(now());
    for (const AccessNotification& notification : batch) {
      hold(notification.va_space, notification.frame, debt);
      gpu_.perform(uvm.service(gpu_.index(), notification, now() + debt), debt, moves_);
    }
    sleep_until(now() + debt);
    sleep_until(moves_.wait());
    gpu_.advance(now());
    let_go();
  }
  idle_since_ = now();
}

void BottomHalf::hold(int va_space, FrameIndex frame, Duration& debt) {
  const std::pair name{va_space, frame};
  if (!held_.empty() && held_.back() == name) return;  // another VA block of it
  gpu_.wait_for_frame(va_space, frame, debt);
  if (!gpu_.shared()) return;
  gpu_.in_flight().add(va_space, frame);
  held_.push_back(name);
}

void BottomHalf::let_go() {
  for (const auto& [va_space, frame] : held_) gpu_.in_flight().remove(va_space, frame);
  held_.clear();
}

// Sleeps until `at`, then reads PUT: how many entries the driver can see.
std::size_t BottomHalf::sample_put(Time at) {
  sleep_until(at);
  gpu_.advance(now());
  return gpu_.fault_unit().visible(now());
}

void BottomHalf::service_interrupt() {
  const DriverCosts& costs = gpu_.spec().driver_costs;
  const DriverConfig& driver = gpu_.services().machine.driver;
  ActivityClock& activity = gpu_.activity();
  const RememberingFaultUnit& unit = gpu_.fault_unit();
  bool again = false;
  for (; !unit.buffer().empty(); again = true) {
    if (again) {
      raised_ = std::max(now(), unit.buffer().front().visible);
      activity.batch_begins(raised_);
    }
    ++gpu_.counts().interrupts;
    span_.begin = raised_;
    std::size_t put = sample_put(std::max(now(), raised_ + interrupt_latency(raised_)));
    int batches = 0, throttled = 0;
    while (put > 0 && batches < driver.uvm_perf_fault_max_batches_per_service &&
           throttled < driver.uvm_perf_fault_max_throttle_per_service) {
      throttled += service_batch(put) ? 1 : 0;
      ++batches;
      span_.begin = std::max(now(), goes_on_);
      put = sample_put(std::max(now(), goes_on_) + costs.replay_wait + costs.put_read);
      let_go();
    }
    if (driver.uvm_perf_fault_replay_policy == kOnce) {
      const Time replayed = chains_done() + costs.replay;
      gpu_.replay_later(replayed);
      sleep_until(replayed);
    }
    activity.batch_ends(now());
    idle_since_ = now();
    // The interrupt is on again: it fires at once when entries are left, else the kernel goes on.
    if (put == 0) return;
  }
  if (!again) activity.batch_ends(now());  // somebody else resolved the fault meanwhile
}

// Whether the flush behind the batch reads PUT again, and throws away all that came.
bool BottomHalf::flushes_all(const FaultBatch& batch) const {
  return gpu_.services().machine.driver.uvm_perf_fault_replay_policy == kBatchFlush &&
         gpu_.services().driver.flush_updates_put(batch);
}

bool BottomHalf::service_batch(std::size_t put) {
  servicing_ = true;
  RememberingFaultUnit& unit = gpu_.fault_unit();
  UvmDriver& uvm = gpu_.services().driver;
  GpuCounts& counts = gpu_.counts();
  const DriverCosts& costs = gpu_.spec().driver_costs;
  const DriverConfig& driver = gpu_.services().machine.driver;

  const std::size_t taken = std::min(put, static_cast<std::size_t>(driver.uvm_perf_fault_batch_count));
  entries_.clear();
  for (std::size_t i = 0; i < taken; ++i) {
    const BufferedFault& f = unit.buffer()[i];
    entries_.push_back({f.page, f.write ? AccessType::Write : AccessType::Read, f.utlb});
  }
  unit.take(taken, now());
  FaultBatch& batch = uvm.fetch(gpu_.index(), gpu_.current_space(), entries_);
  if (flushes_all(batch)) unit.discard();
  ++counts.fault_batches;
  if (gpu_.services().went_on) gpu_.services().went_on();
  counts.raw_fault_entries += static_cast<std::int64_t>(taken);
  counts.fault_entries += static_cast<std::int64_t>(batch.faults.size());
  counts.duplicate_faults += batch.duplicates;
  gpu_.services().history.note(History::Event::Batch, gpu_.index(), now(),
                               static_cast<std::int64_t>(batch.faults.size()));

  span_.batch = ++gpu_.services().fault_batches;
  chains_.reset(now(), span_.batch);
  Duration debt = costs.batch + costs.raw_entry * static_cast<std::int64_t>(taken) +
                  costs.representative * static_cast<std::int64_t>(batch.faults.size());
  if (spaces_.insert(gpu_.current_space()).second) debt += costs.first_fault;
  bool serviced = false, throttled = false;
  for (std::size_t i = 0; i < batch.blocks.size(); ++i) {
    hold(batch.va_space, frame_of(batch.faults[batch.blocks[i].first].page), debt);
    BlockWork& work = uvm.service(batch, i, now() + debt);
    serviced |= work.serviced;
    throttled |= work.throttled;
    counts.stale_faults += work.faults_stale;
    counts.serviced_faults += work.faults_serviced;
    counts.blocks_serviced += work.serviced ? 1 : 0;
    gpu_.perform(work, debt, chains_);
    if (driver.uvm_perf_fault_replay_policy == kBlock) {
      sleep_until(now() + debt);
      debt = Duration{0};
      gpu_.replay_later(chains_done() + costs.replay);
    }
  }
  counts.fault_groups += serviced ? 1 : 0;
  sleep_until(now() + debt);
  flush_and_replay(batch, put - taken,
                   driver.uvm_perf_fault_replay_policy == kBatchFlush || driver.uvm_perf_fault_replay_policy == kBatch);
  if (gpu_.services().observer != nullptr) tell(batch, taken);
  return throttled;
}

// Waits for the copies of the batch. Returns when they are, or will be, complete: not before now.
Time BottomHalf::chains_done() {
  const Time done = chains_.wait();
  return std::max(done, now());
}

// What is left between GET and PUT is thrown away: it comes back after the replay if nobody resolved it.
void BottomHalf::flush_and_replay(const FaultBatch& batch, std::size_t left, bool replays) {
  const DriverCosts& costs = gpu_.spec().driver_costs;
  GpuCounts& counts = gpu_.counts();
  const bool flushes = gpu_.services().machine.driver.uvm_perf_fault_replay_policy == kBatchFlush;
  servicing_ = false;
  gpu_.ahead_wanted().notify_all();
  if (flushes) {
    gpu_.advance(now());
    if (flushes_all(batch)) {
      left = gpu_.fault_unit().flush(now());
      ++counts.update_puts;
    } else {
      gpu_.fault_unit().take(left, now());
    }
    counts.flushed_faults += static_cast<std::int64_t>(left);
  }
  span_.serviced = span_.copied = span_.replayed = now();
  if (!replays) return;
  // The replay acquires the batch's tracker: all copies and page-table writes come first.
  gpu_.activity().lower(ActivityClock::Cpu, now());
  span_.copied = span_.replayed = chains_done();
  const Time replayed = span_.copied + costs.replay;
  gpu_.replay_later(replayed);
  gpu_.activity().raise(ActivityClock::Cpu, now());
  if (flushes) goes_on_ = span_.replayed = replayed;  // the bottom half waits for this replay, and only for this kind
}

void BottomHalf::tell(const FaultBatch& batch, std::size_t entries) {
  pages_.clear();
  for (const FaultBatch::Representative& fault : batch.faults) pages_.push_back(fault.page);
  span_.gpu = gpu_.index();
  span_.entries = static_cast<std::int64_t>(entries);
  span_.blocks = static_cast<std::int64_t>(batch.blocks.size());
  span_.pages = pages_;
  gpu_.services().observer->fault_batch(span_);
  gpu_.observe_residency();
}

}  // namespace uvmsim
