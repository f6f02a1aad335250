#include "engine/copy_engine.h"

#include <algorithm>

#include "engine/clock.h"
#include "engine/gpu_device.h"

namespace uvmsim {

void Chain::clear() {
  copies.clear();
  map.clear();
  done = 0;
  closed = false;
  ready = Time{};
  zero = Duration{};
  gpu = nullptr;
  group = nullptr;
  batch = 0;
  background = false;
}

namespace {

std::string name_of(const GpuDevice& gpu, CopyEngine::Direction d) {
  return "gpu" + std::to_string(gpu.index().value) +
         (d == CopyEngine::Direction::HostToDevice ? " h2d copy engine" : " d2h copy engine");
}

// The methods of a push are pipelined. A profiler is told of each run by a timestamp behind it, a semaphore release
// with a membar, for which the next run waits. Source: uvm_va_block.c: block_copy_push; uvm_tools.c:
// uvm_tools_record_migration.
int starts_of(const BlockCopy& copy, const DriverConfig& driver) {
  return driver.tools_migration_events ? copy.copies : 1;
}

}  // namespace

CopyEngine::CopyEngine(GpuDevice& gpu, Direction direction)
    : gpu_(gpu),
      direction_(direction),
      work_("work for the " + name_of(gpu, direction)),
      ready_("the copy before it in its chain") {
  scheduler().spawn(
      name_of(gpu, direction), [this] { run(); }, Scheduler::Kind::Daemon);
}

void CopyEngine::push(Chain& chain, std::size_t index) {
  jobs_.push({&chain, index});
  work_.notify_all();
}

void CopyEngine::run() {
  const CopyEngineSpec& spec = gpu_.spec().copy;
  const auto flag = direction_ == Direction::HostToDevice ? ActivityClock::CopyIn : ActivityClock::CopyOut;
  Fabric& fabric = gpu_.services().fabric;
  for (;;) {
    while (jobs_.empty()) work_.wait();
    const Job job = jobs_.front();
    jobs_.pop();
    Chain& chain = *job.chain;
    while (chain.done != job.index) ready_.wait();
    const BlockCopy copy = chain.copies[job.index].copy;  // by value: the chain may grow meanwhile
    const Time start = std::max(now(), chain.ready);
    sleep_until(start);
    const bool counts = !chain.background || direction_ == Direction::HostToDevice;
    if (counts) gpu_.activity().raise(flag, start);
    sleep_until(start + spec.method_latency * starts_of(copy, gpu_.services().machine.driver));
    const bool peer = !copy.from.is_cpu() && !copy.to.is_cpu();
    const Route& route = peer                 ? fabric.between(copy.from.gpu_index(), copy.to.gpu_index())
                         : copy.from.is_cpu() ? fabric.to_gpu(copy.to.gpu_index())
                                              : fabric.from_gpu(copy.from.gpu_index());
    const Time moving = now();
    const Duration excess = fabric.transfer(route, copy.bytes);
    const Time end = now();
    if (counts) gpu_.activity().copy_waited(moving, excess, flag, end);
    if (counts) gpu_.activity().lower(flag, end);
    gpu_.services().history.note(History::Event::Copy, gpu_.index(), end, copy.bytes.value);
    if (Observer* observer = gpu_.services().observer)
      observer->copy({.gpu = gpu_.index(),
                      .to_device = direction_ == Direction::HostToDevice,
                      .eviction = chain.copies[job.index].eviction,
                      .peer = peer,
                      .begin = start,
                      .end = end,
                      .bytes = copy.bytes,
                      .batch = chain.batch});
    gpu_.copy_done(chain);
  }
}

}  // namespace uvmsim
