#include "engine/stream.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"
#include "engine/clock.h"
#include "engine/coordination.h"
#include "engine/staged_copy.h"
#include "trace/pattern.h"

namespace uvmsim {
namespace {

// CUDA lets about this many launches wait on a stream before the launching thread blocks.
constexpr std::size_t kLaunchQueue = 1024;

}  // namespace

Stream::Stream(ProcessContext& process, GpuIndex gpu, std::string name)
    : process_(process),
      gpu_(*process.services.gpus[gpu]),
      id_(process.services.streams++),
      work_("work on " + name),
      space_("room in the launch queue of " + name),
      idle_(name + " to be idle"),
      called_("the driver's work for a prefetch on " + name),
      chains_("the copies of an operation on " + name),
      copies_("the copies to the host of an operation on " + name),
      remote_("the remote accesses of a kernel on " + name) {
  if (Observer* observer = process.services.observer)
    observer->stream_opened({.stream = id_, .gpu = gpu, .process = process.va_space, .name = name});
  scheduler().spawn(name, [this] { run(); });
}

std::span<const Operand> Stream::operands(OperandSpan span) const {
  return std::span(process_.program.operands).subspan(span.first, span.count);
}

void Stream::push(const Op& op, Time issued, std::int64_t target) {
  const auto* collective = std::get_if<op::Collective>(&op);
  own_thread_ |= collective != nullptr && collective->priority >= 0;
  while (!own_thread_ && queue_.size() >= kLaunchQueue) space_.wait();
  queue_.push({&op, issued, target, !drained()});
  calling_ |= std::holds_alternative<op::Prefetch>(op);
  work_.notify_all();
}

void Stream::close() {
  closed_ = true;
  work_.notify_all();
}

void Stream::synchronize() {
  while (!drained()) idle_.wait();
}

void Stream::wait_for_call() {
  while (calling_) called_.wait();
}

void Stream::run() {
  for (;;) {
    if (queue_.empty() && busy_) {
      busy_ = false;
      idle_.notify_all();
    }
    if (queue_.empty()) {
      if (closed_) return;
      work_.wait();
      continue;
    }
    busy_ = true;
    const Entry entry = queue_.front();
    queue_.pop();
    if (queue_.size() == kLaunchQueue / 2) space_.notify_all();
    sleep_until(entry.issued);
    const Time begin = now();
    execute(entry);
    if (process_.services.observer != nullptr) tell_done(*process_.services.observer, *entry.op, begin);
  }
}

void Stream::execute(const Entry& entry) {
  executing_ = entry.op;
  if (const auto* kernel = std::get_if<op::Kernel>(entry.op)) {
    const std::int64_t batches = gpu_.counts().fault_batches;
    execute(*kernel);
    if (process_.gate) process_.gate->kernel_done(entry.target, gpu_.counts().fault_batches - batches);
    return;
  }
  process_.services.history.note(History::Event::StreamOperation, gpu_.index(), now(),
                                 static_cast<std::int64_t>(entry.op->index()));
  if (const auto* copy = std::get_if<op::Copy>(entry.op)) return execute(*copy);
  if (const auto* prefetch = std::get_if<op::Prefetch>(entry.op))
    return execute(*prefetch, entry.target, entry.handed_over);
  if (const auto* discard = std::get_if<op::Discard>(entry.op)) return execute(*discard);
  if (const auto* collective = std::get_if<op::Collective>(entry.op)) return execute(*collective, entry.target);
  if (const auto* iteration = std::get_if<op::Iteration>(entry.op))
    return process_.iteration_begins(gpu_.index(), iteration->index);
  if (const auto* record = std::get_if<op::EventRecord>(entry.op)) {
    EventState& event = *process_.events.at(record->event);
    ++event.completed;
    event.completed_changed.notify_all();
  } else if (const auto* wait = std::get_if<op::EventWait>(entry.op)) {
    EventState& event = *process_.events.at(wait->event);
    const auto flag = event.kind == EventState::Kind::Turn ? ActivityClock::Collective : ActivityClock::Transfer;
    const bool counts = event.kind != EventState::Kind::Program;
    const Time begin = now();
    if (counts) gpu_.activity().raise(flag, begin);
    while (event.completed < entry.target) event.completed_changed.wait();
    if (counts) gpu_.activity().lower(flag, now());
    if (const std::int32_t action = event.action_of(entry.target); action >= 0) {
      process_.actions.waited(action, begin, now());
      process_.actions.arrived(action, event.completed_at[static_cast<std::size_t>(entry.target - 1)], begin);
    }
  }
}

// --- what observers see

std::string_view Stream::name_of(const op::Kernel& kernel) const {
  return process_.program.strings[static_cast<std::size_t>(kernel.name)];
}

void Stream::tell_started(Observer& observer, const op::Kernel& kernel) {
  touched_.clear();
  const std::vector<std::int32_t>& tensors = process_.program.operand_tensors;
  for (std::uint32_t i = kernel.operands.first; !tensors.empty() && i < kernel.operands.first + kernel.operands.count;
       ++i) {
    const Operand& o = process_.program.operands[i];
    touched_.push_back({o.address, o.end(), tensors[i]});
  }
  observer.kernel_started({.stream = id_,
                           .gpu = gpu_.index(),
                           .process = process_.va_space,
                           .begin = now(),
                           .name = name_of(kernel),
                           .operands = touched_});
}

void Stream::tell_done(Observer& observer, const Op& op, Time begin) const {
  StreamSpan span{.stream = id_, .gpu = gpu_.index(), .begin = begin, .end = now(), .name = {}};
  if (const auto* copy = std::get_if<op::Copy>(&op)) {
    span.name = "memcpy";
    span.bytes = Bytes{copy->bytes};
  } else if (const auto* prefetch = std::get_if<op::Prefetch>(&op)) {
    span.name = "prefetch";
    span.bytes = Bytes{prefetch->bytes};
  } else if (const auto* collective = std::get_if<op::Collective>(&op)) {
    const bool sends = collective->kind == trace::Collective::Send;
    span.name = !collective->peer ? "collective" : sends ? "send" : "receive";
    span.bytes = Bytes{collective->bytes};
  } else if (std::holds_alternative<op::EventWait>(op)) {
    span.name = "waits for an event";
  }
  if (!span.name.empty() && span.end > span.begin) observer.stream_operation(span);
  gpu_.observe_residency();
}

// --- kernels

void Stream::execute(const op::Kernel& kernel) {
  const GpuIndex gpu = gpu_.index();
  while (process_.gpu_busy[gpu]) process_.gpu_queues[gpu]->wait();
  process_.gpu_busy[gpu] = true;
  const Time start = now();
  gpu_.activity().raise(ActivityClock::Kernel, start);
  begin_operation();
  Observer* const observer = process_.services.observer;
  if (observer != nullptr) tell_started(*observer, kernel);
  const KernelTime before = gpu_.activity().kernel_time(start);
  const auto span = operands(kernel.operands);
  const auto program =
      make_kernel_program({kernel.grid, kernel.block, kernel.registers}, span, process_.program.options);
  if (program == nullptr) {
    sleep_until(start + kernel.duration);
  } else {
    gpu_.set_current_space(process_.va_space);
    gpu_.advance(now());
    const RemoteAccess remote = remote_access(*program);
    const RemoteLoad load = start_remote(remote, *program);
    AccessCounting counting(gpu_, process_.va_space, span, !remote.empty());
    run_kernel(std::max(kernel.duration, load.alone(gpu_.spec())), *program, counting);
    note_contents(kernel.operands);
    const Duration stalled = gpu_.activity().kernel_time(now()).stalled() - before.stalled();
    finish_remote(remote, load, *program, start + stalled);
    if (counting.count(1)) process_.bottom_halves[gpu_.index()]->notify();
  }
  end_operation();
  if (observer != nullptr)
    observer->kernel({.stream = id_,
                      .gpu = gpu_.index(),
                      .begin = start,
                      .end = now(),
                      .name = name_of(kernel),
                      .in_core = kernel.duration,
                      .time = gpu_.activity().kernel_time(now()) - before});
  gpu_.activity().lower(ActivityClock::Kernel, now());
  ++gpu_.counts().kernels;
  if (process_.services.went_on) process_.services.went_on();
  if (process_.coordination != nullptr) process_.coordination->kernel_done();
  process_.services.history.note(History::Event::Kernel, gpu_.index(), now(), kernel.name);
  process_.gpu_busy[gpu] = false;
  process_.gpu_queues[gpu]->notify_all();
}

void Stream::begin_operation() {
  UvmDriver& driver = process_.services.driver;
  if (!driver.watches_operations()) return;
  driver.begin_operation(gpu_.index(), process_.va_space,
                         static_cast<std::uint32_t>(executing_ - process_.program.ops.data()));
  gpu_.ahead_wanted().notify_all();
}

void Stream::end_operation() {
  UvmDriver& driver = process_.services.driver;
  if (driver.watches_operations()) driver.end_operation(gpu_.index(), process_.va_space);
}

void Stream::run_kernel(Duration in_core, const KernelProgram& program, AccessCounting& counting) {
  RememberingFaultUnit& unit = gpu_.fault_unit();
  BottomHalf& bottom_half = *process_.bottom_halves[gpu_.index()];
  const auto count = [&](double share) {
    if (counting.count(share)) bottom_half.notify();
  };
  const Time start = now();
  const Duration stalled = gpu_.activity().kernel_time(start).stalled();
  // Counts on the way to what was looked ahead to; false: the page table has changed before.
  const auto count_ahead = [&] {
    while (counting.next_share() < 1) {
      const double share = counting.next_share();
      const Duration stalls = gpu_.activity().kernel_time(now()).stalled() - stalled;
      const Time at = start + stalls + from_seconds(seconds(in_core) * share);
      if (at >= gpu_.ahead_to()) break;
      if (at > now() && !gpu_.undisturbed_until(at)) return false;
      count(share);
    }
    return true;
  };
  unit.launch(program, gpu_.pages(process_.va_space), in_core, start);
  for (;;) {
    gpu_.look_ahead(now());
    if (!count_ahead()) continue;
    if (!unit.buffer().empty()) {
      if (!gpu_.wait_for_fault()) continue;
      bottom_half.interrupt();
      while (!bottom_half.idle()) gpu_.changed().wait();
      count(static_cast<double>(unit.passed()) / static_cast<double>(program.ctas()));
    } else if (unit.ended()) {
      if (gpu_.sleep_unless_changed(unit.end())) break;
    } else {
      gpu_.wait_for_more();
    }
  }
  unit.retire();
}

// The kernel has read or overwritten its operands: for dead-byte accounting, reads first.
void Stream::note_contents(OperandSpan span) {
  UvmDriver& driver = process_.services.driver;
  for (const Operand& o : operands(span))
    if (o.managed() && o.mode != trace::Mode::Write)
      driver.note_read(gpu_.index(), process_.va_space, o.address, Bytes{o.bytes});
  for (const Operand& o : operands(span))
    if (o.managed() && o.mode == trace::Mode::Write && trace::covers_its_range(o.pattern))
      driver.note_overwritten(gpu_.index(), process_.va_space, o.address, Bytes{o.bytes});
}

// --- pages mapped remotely: read and written over the link, while the kernel runs

RemoteAccess Stream::remote_access(const KernelProgram& program) const {
  const PageTable& pages = gpu_.pages(process_.va_space);
  return pages.any_remote() ? program.remote_access(pages, gpu_.spec().sms) : RemoteAccess{};
}

// Both directions at once.
void Stream::flow(const RemoteLoad& load) {
  Fabric& fabric = process_.services.fabric;
  const auto start = [&](const Route& route, Bytes size) {
    if (size.value == 0) return;
    remote_.add();
    scheduler().spawn("remote access of gpu" + std::to_string(gpu_.index().value), [this, &fabric, &route, size] {
      fabric.transfer(route, size);
      remote_.finish(now());
    });
  };
  start(fabric.remote_to_gpu(gpu_.index()), load.to_gpu);
  start(fabric.remote_from_gpu(gpu_.index()), load.to_host);
}

// What is mapped remotely when a kernel starts sets its pace.
RemoteLoad Stream::start_remote(const RemoteAccess& access, const KernelProgram& program) {
  const RemoteLoad load = remote_load(access, gpu_.spec(), resident_warps(gpu_.spec(), program));
  gpu_.counts().remote_bytes += access.bytes();
  remote_.reset(now());
  flow(load);
  return load;
}

// What its faults were answered with is accessed as it comes, but not while they are serviced: an SM that faults issues
// nothing to memory until the replay (NVIDIA, US patent application 2014/0281263, "Replaying memory transactions while
// resolving memory access faults"; Sakharnykh, "Maximizing Unified Memory Performance in CUDA", NVIDIA 2017), and here
// all SMs fault when one does. `start`: of the kernel, plus the time in which its faults were serviced.
void Stream::finish_remote(const RemoteAccess& at_launch, const RemoteLoad& load, const KernelProgram& program,
                           Time start) {
  remote_.wait();
  const RemoteAccess later = more_than(at_launch, remote_access(program));
  if (at_launch.empty() && later.empty()) return;
  gpu_.counts().remote_bytes += later.bytes();
  RemoteLoad rest = remote_load(later, gpu_.spec(), resident_warps(gpu_.spec(), program));
  const Duration alone = rest.alone(gpu_.spec());
  const Time end = start + load.alone(gpu_.spec()) + alone;
  if (end <= now()) return;
  const double left = std::min(1.0, seconds(end - now()) / seconds(alone));
  for (Bytes* size : {&rest.to_gpu, &rest.to_host})
    size->value = static_cast<std::int64_t>(static_cast<double>(size->value) * left);
  flow(rest);
  remote_.wait();
  sleep_until(end);
}

// --- copies, prefetches, collectives

// A copy engine touches managed memory: what is not there is faulted in, block by block.
void Stream::fault_in(const Operand& operand) {
  if (!operand.managed() || operand.bytes <= 0) return;
  const AccessType access = operand.mode == trace::Mode::Read ? AccessType::Read : AccessType::Write;
  const PageRange range = operand.pages();
  const bool write = access == AccessType::Write;
  for (;;) {
    gpu_.advance(now());
    const PageTable& pages = gpu_.pages(process_.va_space);
    const PageNumber missing = pages.next_fault(range.first, range.outer, write);
    if (missing == range.outer) return;
    Duration debt{0};
    if (gpu_.wait_for_frame(process_.va_space, frame_of(missing), debt)) continue;  // the page may be there now
    const std::uint32_t first = page_in_frame(missing);
    BlockWork work = process_.services.driver.service_non_replayable(gpu_.index(), process_.va_space, frame_of(missing),
                                                                     {first, first + 1}, access, now());
    debt = gpu_.spec().driver_costs.interrupt;
    chains_.reset(now());
    gpu_.perform(work, debt, chains_);
    sleep_until(now() + debt);
    sleep_until(chains_.wait() + gpu_.spec().driver_costs.replay);
  }
}

void Stream::execute(const op::Copy& copy) {
  using trace::CopyDirection;
  gpu_.activity().raise(ActivityClock::Transfer, now());
  for (const Operand& o : operands(copy.operands)) fault_in(o);
  Fabric& fabric = process_.services.fabric;
  const CopyEngineSpec& engine = gpu_.spec().copy;
  const Bytes size{copy.bytes};
  switch (copy.direction) {
    case CopyDirection::HostToDevice:
      sleep_until(now() + engine.method_latency);
      fabric.transfer(fabric.bulk_to_gpu(gpu_.index()), size);
      gpu_.counts().memcpy_h2d_bytes += copy.bytes;
      break;
    case CopyDirection::DeviceToHost:
      sleep_until(now() + engine.method_latency);
      fabric.transfer(fabric.bulk_from_gpu(gpu_.index()), size);
      gpu_.counts().memcpy_d2h_bytes += copy.bytes;
      break;
    case CopyDirection::PeerToPeer:
      copy_to_peer(copy.peer ? process_.gpus[*copy.peer] : gpu_.index(), size);
      break;
    case CopyDirection::DeviceToDevice:  // read and written in the GPU's memory
      sleep_until(now() + engine.method_latency + transfer_time(size * 2, gpu_.spec().memory_bandwidth));
      break;
    case CopyDirection::Memset:
      sleep_until(now() + engine.method_latency + transfer_time(size, engine.zero_bandwidth));
      break;
  }
  if (!process_.gpu_busy[gpu_.index()]) begin_operation(), end_operation();
  note_contents(copy.operands);
  gpu_.activity().lower(ActivityClock::Transfer, now());
}

void Stream::copy_to_peer(GpuIndex peer, Bytes size) {
  Fabric& fabric = process_.services.fabric;
  if (peer != gpu_.index() && !fabric.peers(gpu_.index(), peer))
    return staged_copy(gpu_, *process_.services.gpus[peer], size);
  sleep_until(now() + gpu_.spec().copy.method_latency);
  if (peer != gpu_.index()) fabric.transfer(fabric.between(gpu_.index(), peer), size);
}

void Stream::execute(const op::Prefetch& prefetch, std::int64_t kernel, bool handed_over) {
  if (process_.gate && !prefetch.of_allocator && prefetch.destination) {
    gpu_.advance(now());
    const PageNumber first = page_of(prefetch.address);
    const PageNumber outer = page_of(prefetch.address + static_cast<VirtualAddress>(prefetch.bytes) - 1) + 1;
    const bool missing = gpu_.pages(process_.va_space).next_fault(first, outer, true) != outer;
    if (!process_.gate->executes(kernel, missing)) return;
  }
  gpu_.activity().raise(ActivityClock::Transfer, now());
  const DriverCosts& costs = gpu_.spec().driver_costs;
  Duration debt = costs.migrate_call;
  if (handed_over) debt = std::max(debt, process_.services.machine.host.runtime.busy_prefetch_call);
  chains_.reset(now());
  const ProcessorId destination = prefetch.destination ? ProcessorId::gpu(gpu_.index()) : ProcessorId::cpu();
  const auto migration =
      process_.services.driver.migrate(process_.va_space, prefetch.address, Bytes{prefetch.bytes}, destination);
  copies_.reset(now());
  std::map<FrameIndex, int> copied;  // how much of copies_ is finished when a frame's pages are on the host
  while (const std::optional<FrameIndex> frame = migration->frame()) {
    gpu_.wait_for_frame(process_.va_space, *frame, debt);
    if (const auto first_pass = copied.find(*frame); first_pass != copied.end()) {
      sleep_until(now() + std::exchange(debt, Duration{0}));
      copies_.wait_for(first_pass->second);
    }
    BlockWork* const work = migration->next();
    if (work == nullptr) break;  // freed meanwhile
    const bool to_host = destination.is_cpu() && !work->copies.empty(), waits = work->waits_for_copies;
    gpu_.perform(*work, debt, to_host ? copies_ : chains_);
    if (to_host) copied.emplace(*frame, copies_.added());
    if (to_host && waits) sleep_until(copies_.wait());
  }
  sleep_until(now() + debt);
  calling_ = false;
  called_.notify_all();
  sleep_until(std::max(chains_.wait(), copies_.wait()));
  gpu_.advance(now());
  gpu_.activity().lower(ActivityClock::Transfer, now());
}

// An ioctl that walks the blocks of its range, as cudaMemAdvise does; its cost is assumed to be the same.
void Stream::execute(const op::Discard& discard) {
  gpu_.activity().raise(ActivityClock::Transfer, now());
  const DriverCosts& costs = gpu_.spec().driver_costs;
  const auto last =
      static_cast<std::int64_t>((discard.address + static_cast<VirtualAddress>(discard.bytes) - 1) / kBlockBytes);
  const std::int64_t blocks = last - static_cast<std::int64_t>(discard.address / kBlockBytes) + 1;
  sleep_until(now() + costs.advise_call + costs.advise_block * blocks);
  for (const PageTableWrite& w :
       process_.services.driver.discard(process_.va_space, discard.address, Bytes{discard.bytes}, discard.lazy))
    process_.services.gpus[w.gpu.gpu_index()]->apply(w, now());
  gpu_.advance(now());
  gpu_.activity().lower(ActivityClock::Transfer, now());
}

void Stream::execute(const op::Collective& collective, std::int64_t number) {
  gpu_.activity().raise(ActivityClock::Collective, now());
  if (collective.peer) {
    exchange(collective, number);
  } else {
    const bool followed = is_followed(collective, number);
    process_.collectives.run(collective, gpu_.index(), number, followed);
    if (!followed && ends_step(collective)) sleep_until(now() + process_.stagger);
  }
  if (!process_.gpu_busy[gpu_.index()]) begin_operation(), end_operation();
  note_contents(collective.operands);
  gpu_.activity().lower(ActivityClock::Collective, now());
}

// Whether the next one of its communicator is next on the stream, and goes by priority as it does.
bool Stream::is_followed(const op::Collective& collective, std::int64_t number) const {
  if (collective.priority < 0 || queue_.empty()) return false;
  const auto* next = std::get_if<op::Collective>(queue_.front().op);
  return next != nullptr && next->priority >= 0 && !next->peer && next->communicator == collective.communicator &&
         next->ranks == collective.ranks && next->stride == collective.stride && queue_.front().target == number + 1;
}

// Whether the program goes on after it: not between the parts of a sum that goes by groups, which ends in an
// all-gather.
bool Stream::ends_step(const op::Collective& collective) {
  return collective.stride == 1 && (collective.ranks == 0 || collective.kind != trace::Collective::ReduceScatter);
}

// A send or receive whose other side is known.
void Stream::exchange(const op::Collective& collective, std::int64_t number) {
  const GpuIndex peer = process_.gpus.at(*collective.peer);
  if (collective.kind == trace::Collective::Send)
    process_.point_to_point.send(collective.communicator, gpu_, *process_.services.gpus[peer], Bytes{collective.bytes},
                                 number);
  else
    process_.point_to_point.receive(collective.communicator, peer, gpu_.index(), number);
}

}  // namespace uvmsim
