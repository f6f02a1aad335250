#include "engine/host_thread.h"

#include <algorithm>

#include "engine/clock.h"
#include "engine/collective_needs.h"
#include "engine/coordination.h"

namespace uvmsim {

HostThread::HostThread(ProcessContext& process, std::string name)
    : process_(process), name_(std::move(name)), steps_(process, name_), chains_("the copies of a call of " + name_) {
  scheduler().spawn(name_, [this] { run(); });
}

Stream& HostThread::stream(GpuIndex gpu, std::int32_t id) {
  std::unique_ptr<Stream>& s = streams_[{gpu, id}];
  if (!s)
    s = std::make_unique<Stream>(process_, gpu,
                                 name_ + " gpu" + std::to_string(gpu.value) + " stream " + std::to_string(id));
  return *s;
}

void HostThread::catch_up() {
  sleep_until(time_);
  time_ = std::max(time_, now());
}

void HostThread::note_streams() {
  if (process_.gpus.size() == 1) return;  // it works on all
  for (const Op& op : process_.program.ops)
    std::visit(
        [&](const auto& o) {
          if constexpr (requires { o.device, o.stream; }) users_[o.stream].insert(machine_gpu(o.device));
        },
        op);
}

// A number that one GPU alone works on is that GPU's stream.
GpuIndex HostThread::gpu_of(std::int32_t stream) const {
  const auto users = users_.find(stream);
  return users != users_.end() && users->second.size() == 1 ? *users->second.begin() : process_.gpus.front();
}

std::int32_t HostThread::main_stream(GpuIndex gpu) const {
  if (gpu == process_.gpus.front()) return 0;
  for (const auto& [stream, users] : users_)
    if (users.contains(gpu)) return stream;
  return 0;
}

void HostThread::run() {
  time_ = process_.stagger;
  note_streams();
  for (const GpuIndex gpu : process_.gpus) stream(gpu, main_stream(gpu));
  for (const DeviceOrdinal device : process_.gpus.indices()) {
    if (!process_.planned) break;
    memories_.push_back(std::make_unique<TensorMemory>(
        process_, device, [this, gpu = machine_gpu(device)](const Op& op, std::int32_t id, std::int64_t target) {
          stream(gpu, id).push(op, std::max(time_, now()), target);
        }));
  }
  if (!memories_.empty() && process_.coordination != nullptr && process_.coordination->coordinates_collectives())
    needs_ = kernels_before_need(process_.program);
  for (std::size_t i = 0; i < process_.program.ops.size(); ++i) {
    const Op& op = process_.program.ops[i];
    const Time begin = time_;
    if (!issue_planned(op)) issue(op);
    if (!memories_.empty()) settle(i);
    if (process_.services.observer != nullptr) tell(op, begin);
  }
  for (const auto& memory : memories_) memory->finish();
  static const Op end = op::Iteration{-1};
  for (const GpuIndex gpu : process_.gpus) stream(gpu, main_stream(gpu)).push(end, time_);
  for (auto& [key, s] : streams_) s->close();
  for (auto& [thread, worker] : workers_) worker->close();
}

void HostThread::enqueue(const Op& op, GpuIndex gpu, std::int32_t id, Duration cost) {
  time_ = std::max(time_ + cost, now());
  std::int64_t target = kernels_;
  if (const auto* record = std::get_if<op::EventRecord>(&op)) {
    std::unique_ptr<EventState>& event = process_.events[record->event];
    if (!event) event = std::make_unique<EventState>(std::to_string(record->event));
    ++event->recorded;
  } else if (const auto* wait = std::get_if<op::EventWait>(&op)) {
    std::unique_ptr<EventState>& event = process_.events[wait->event];
    if (!event) event = std::make_unique<EventState>(std::to_string(wait->event));
    target = event->recorded;
  } else if (const auto* collective = std::get_if<op::Collective>(&op)) {
    target = number_of(*collective);
  }
  stream(gpu, id).push(op, time_, target);
}

// Collectives, sends and receives meet in the order in which hosts issue them.
std::int64_t HostThread::number_of(const op::Collective& collective) {
  const GpuIndex gpu = machine_gpu(collective.device);
  if (!collective.peer) {
    const auto need = needs_.find(&collective);
    return process_.collectives.issue(collective, gpu,
                                      need == needs_.end() ? -1 : memory(collective.device).launched() + need->second);
  }
  const GpuIndex peer = machine_gpu(*collective.peer);
  return collective.kind == trace::Collective::Send
             ? process_.point_to_point.issue_send(collective.communicator, gpu, peer)
             : process_.point_to_point.issue_receive(collective.communicator, peer, gpu);
}

Duration HostThread::launch_cost() const {
  return std::max(process_.program.host_op, process_.services.machine.host.runtime.kernel_launch);
}

void HostThread::issue(const Op& op) {
  const RuntimeCosts& runtime = process_.services.machine.host.runtime;
  const Duration call = launch_cost();
  const GpuIndex first = process_.gpus.front();
  if (const auto* k = std::get_if<op::Kernel>(&op)) {
    enqueue(op, machine_gpu(k->device), k->stream, call + k->gap);
    ++kernels_;
    return;
  }
  if (const auto* c = std::get_if<op::Copy>(&op)) {
    enqueue(op, machine_gpu(c->device), c->stream, call);
    if (!c->asynchronous) synchronize(c->stream);
    return;
  }
  if (const auto* c = std::get_if<op::Collective>(&op))  // with a priority: by a thread of its own
    return enqueue(op, machine_gpu(c->device), c->stream, c->priority < 0 ? call : Duration{0});
  if (std::holds_alternative<op::Prefetch>(op)) return prefetch(op);
  if (const auto* d = std::get_if<op::Discard>(&op)) return enqueue(op, first, d->stream, runtime.kernel_launch);
  if (const auto* e = std::get_if<op::EventRecord>(&op))
    return enqueue(op, gpu_of(e->stream), e->stream, runtime.kernel_launch);
  if (const auto* e = std::get_if<op::EventWait>(&op))
    return enqueue(op, gpu_of(e->stream), e->stream, runtime.kernel_launch);
  if (std::holds_alternative<op::Iteration>(op)) {
    // As benchmarks do before they start their clock: what was launched while the warm-up faulted is not measured.
    if (process_.warmup > 0 && iterations_++ == process_.warmup) {
      synchronize(-1);
      if (process_.from_host) bring_to_host();
    }
    kernels_ = 0;
    for (const GpuIndex gpu : process_.gpus) enqueue(op, gpu, main_stream(gpu), Duration{0});
    return;
  }
  if (const auto* m = std::get_if<op::MallocManaged>(&op)) {
    if (!m->system) time_ += runtime.malloc_managed_call;
    if (m->bytes == 0) return;
    UvmDriver& driver = process_.services.driver;
    if (m->system)
      driver.allocate_system(process_.va_space, m->address, Bytes{m->bytes});
    else
      driver.allocate_managed(process_.va_space, m->address, Bytes{m->bytes});
    managed_bytes_[m->address] = m->bytes;
    hold(m->bytes);
    return;
  }
  if (const auto* m = std::get_if<op::MallocDevice>(&op)) return malloc_device(*m);
  if (const auto* f = std::get_if<op::FreeManaged>(&op)) return free_managed(*f);
  if (const auto* f = std::get_if<op::FreeDevice>(&op)) return free_device(*f);
  if (const auto* a = std::get_if<op::Advise>(&op)) return advise(*a);
  if (const auto* h = std::get_if<op::HostStep>(&op)) return step(*h);
  if (const auto* s = std::get_if<op::Synchronize>(&op)) return synchronize(s->stream);
}

// --- explicit memory under plans

namespace {

// What moves tensors: done together with its neighbours, before what waits for memory tries again.
bool moves_tensors(const Op& op) {
  return std::holds_alternative<op::SwapOut>(op) || std::holds_alternative<op::SwapIn>(op) ||
         std::holds_alternative<op::Drop>(op) || std::holds_alternative<op::HostCompute>(op) ||
         std::holds_alternative<op::Encode>(op) || std::holds_alternative<op::Decode>(op);
}

}  // namespace

// `op` with the tensors it needs.
void HostThread::launch_planned(const Op& op, DeviceOrdinal device, OperandSpan span, std::int32_t id) {
  catch_up();
  memory(device).before(op, span, id, time_);
  time_ = std::max(time_, now());
  issue(op);
  catch_up();
  memory(device).after(op, span, id, time_);
  time_ = std::max(time_, now());
}

// Operation `done` is done: the last of several that move tensors at one place, or a kernel that none follows.
void HostThread::settle(std::size_t done) {
  const std::vector<Op>& ops = process_.program.ops;
  const auto* kernel = std::get_if<op::Kernel>(&ops[done]);
  if (kernel == nullptr && !moves_tensors(ops[done])) return;
  if (done + 1 < ops.size() && moves_tensors(ops[done + 1])) return;
  for (const auto& memory : memories_) memory->settle(time_);
  time_ = std::max(time_, now());
}

// What the tensors' memory has a part in; false: nothing of it.
bool HostThread::issue_planned(const Op& op) {
  if (memories_.empty()) return false;
  if (const auto* k = std::get_if<op::Kernel>(&op)) return launch_planned(op, k->device, k->operands, k->stream), true;
  if (const auto* c = std::get_if<op::Copy>(&op))
    return c->operands.count > 0 && (launch_planned(op, c->device, c->operands, c->stream), true);
  if (const auto* c = std::get_if<op::Collective>(&op))
    return launch_planned(op, c->device, c->operands, c->stream), true;
  if (const auto* p = std::get_if<op::Phase>(&op))
    for (const auto& m : memories_) m->turns().begin_phase(process_.program.strings[static_cast<std::size_t>(p->name)]);
  if (std::holds_alternative<op::Iteration>(op))
    for (const auto& m : memories_) m->turns().begin_iteration(), m->begin_iteration();
  return perform(op);
}

// Operations of plans, and allocations under them.
bool HostThread::perform(const Op& op) {
  const auto at_its_time = [&](auto&& action) {
    catch_up();
    action();
    time_ = std::max(time_, now());
    return true;
  };
  if (const auto* m = std::get_if<op::MallocDevice>(&op))
    return at_its_time([&] { memory(m->device).allocate(*m, time_); });
  if (const auto* f = std::get_if<op::FreeDevice>(&op)) return memory(f->device).free(*f), true;
  if (const auto* u = std::get_if<op::UnderPlan>(&op)) return memory(u->device).perform(*u), true;
  if (const auto* o = std::get_if<op::SwapOut>(&op)) return at_its_time([&] { memory(o->device).perform(*o, time_); });
  if (const auto* i = std::get_if<op::SwapIn>(&op)) return at_its_time([&] { memory(i->device).perform(*i, time_); });
  if (const auto* d = std::get_if<op::Drop>(&op)) return at_its_time([&] { memory(d->device).perform(*d); });
  if (const auto* h = std::get_if<op::HostCompute>(&op))
    return at_its_time([&] { memory(h->device).perform(*h, time_); });
  if (const auto* e = std::get_if<op::Encode>(&op))
    return at_its_time([&] { memory(e->device).perform(*e, time_ += launch_cost()); });
  if (const auto* d = std::get_if<op::Decode>(&op))
    return at_its_time([&] { memory(d->device).perform(*d, time_ += launch_cost()); });
  if (const auto* j = std::get_if<op::JoinLayer>(&op)) return at_its_time([&] { memory(j->device).join_layer(); });
  if (const auto* r = std::get_if<op::Relaunch>(&op))
    return at_its_time([&] {
      const Op& kernel = process_.program.ops[r->kernel];
      memory(r->device).before_again(kernel, time_);
      time_ = std::max(time_, now());
      issue(kernel);
      catch_up();
      memory(r->device).after_again(kernel);
    });
  return false;
}

// --- what observers see

void HostThread::hold(std::int64_t bytes) {
  held_bytes_ += bytes;
  if (process_.services.observer != nullptr)
    process_.services.observer->reserved(process_.va_space, std::max(time_, now()), Bytes{held_bytes_});
}

void HostThread::tell(const Op& op, Time begin) {
  HostSpan span{.process = process_.va_space, .begin = begin, .end = time_, .name = {}};
  if (std::holds_alternative<op::MallocManaged>(op)) span.name = "cudaMallocManaged";
  if (std::holds_alternative<op::MallocDevice>(op)) span.name = "cudaMalloc";
  if (std::holds_alternative<op::FreeManaged>(op) || std::holds_alternative<op::FreeDevice>(op)) span.name = "cudaFree";
  if (std::holds_alternative<op::Advise>(op)) span.name = "cudaMemAdvise";
  if (std::holds_alternative<op::HostStep>(op)) span.name = "host step";
  if (std::holds_alternative<op::Synchronize>(op)) span.name = "synchronize";
  if (!span.name.empty() && span.end > span.begin) process_.services.observer->host_call(span);
}

// On an idle stream the calling thread does the driver's work itself and comes back when the copies are pushed; on a
// busy one the call is handed to a thread of the CUDA driver. Source: driver specification, section 6.4 (the ioctl
// works in the thread that calls it); Sakharnykh, "Maximizing Unified Memory Performance in CUDA", NVIDIA 2017
// (which thread that is).
void HostThread::prefetch(const Op& op) {
  const auto& call = std::get<op::Prefetch>(op);
  PrefetchGate* gate = call.of_allocator || !call.destination ? nullptr : process_.gate.get();
  if (gate != nullptr && !gate->calls(kernels_)) return;
  const GpuIndex gpu = call.destination ? machine_gpu(*call.destination) : process_.gpus.front();
  if (gate != nullptr && gate->foresees()) return enqueue(op, gpu, call.stream, Duration{0});
  time_ += process_.services.machine.host.runtime.kernel_launch;
  catch_up();
  Stream& on = stream(gpu, call.stream);
  const bool idle = on.drained();
  enqueue(op, gpu, call.stream, Duration{0});
  if (!idle) return;
  on.wait_for_call();
  time_ = std::max(time_, now());
}

// All managed memory, one range after the other.
void HostThread::bring_to_host() {
  const std::int32_t on = main_stream(process_.gpus.front());
  for (const auto& [address, bytes] : managed_bytes_) {
    const Op call = op::Prefetch{address, bytes, std::nullopt, on};
    prefetch(call);
    synchronize(on);
  }
}

void HostThread::synchronize(std::int32_t id) {
  for (auto& [key, s] : streams_)
    if (id < 0 ? !s->has_own_thread() : key.second == id) s->synchronize();
  time_ = std::max(time_, now());
}

// --- memory

// GPUs besides `gpu` that map what is allocated on it.
std::int64_t HostThread::peers_of(GpuIndex gpu) const {
  const Services& services = process_.services;
  return std::ranges::count_if(services.machine.gpus.indices(), [&](GpuIndex other) {
    const bool enabled = process_.enables_peers || std::ranges::find(process_.gpus, other) != process_.gpus.end();
    return other != gpu && enabled && services.fabric.peers(gpu, other);
  });
}

void HostThread::malloc_device(const op::MallocDevice& call) {
  catch_up();
  process_.services.allocation_lock.acquire();
  const RuntimeCosts& runtime = process_.services.machine.host.runtime;
  const GpuIndex gpu = machine_gpu(call.device);
  auto evictions = process_.services.driver.allocate_device(gpu, Bytes{call.bytes});
  if (!evictions)
    process_.services.stop(Outcome::OutOfMemory, name_ + ": cudaMalloc of " + std::to_string(call.bytes) +
                                                     " bytes on GPU " + std::to_string(gpu.value));
  device_bytes_[call.address] = call.bytes;
  hold(call.bytes);
  Duration debt = runtime.malloc_call + runtime.malloc_peer * peers_of(gpu);
  if (call.bytes > kBlockBytes) debt += runtime.malloc_large;
  chains_.reset(now());
  for (const EvictionWork& eviction : *evictions) device(gpu).perform_eviction(eviction, debt, chains_);
  sleep_until(std::max(now() + debt, chains_.wait()));
  process_.services.allocation_lock.release();
  time_ = now();
}

void HostThread::free_managed(const op::FreeManaged& call) {
  synchronize(-1);
  for (const auto& [thread, worker] : workers_) worker->point(0).wait();  // they may still touch it
  catch_up();
  const RuntimeCosts& runtime = process_.services.machine.host.runtime;
  if (!call.last) {
    time_ += runtime.free_call;
    return;
  }
  for (const PageTableWrite& w : process_.services.driver.free_managed(process_.va_space, call.address))
    device(w.gpu.gpu_index()).apply(w, now());
  time_ += free_time(runtime, Bytes{managed_bytes_[call.address]});
  hold(-managed_bytes_[call.address]);
  managed_bytes_.erase(call.address);
}

void HostThread::free_device(const op::FreeDevice& call) {
  synchronize(-1);
  catch_up();
  const RuntimeCosts& runtime = process_.services.machine.host.runtime;
  const std::int64_t bytes = device_bytes_[call.address];
  process_.services.allocation_lock.acquire();
  process_.services.driver.free_device(machine_gpu(call.device), Bytes{bytes});
  sleep_until(now() + free_time(runtime, Bytes{bytes}));
  process_.services.allocation_lock.release();
  time_ = now();
  hold(-bytes);
  device_bytes_.erase(call.address);
}

void HostThread::advise(const op::Advise& call) {
  catch_up();
  const ProcessorId processor = call.processor ? ProcessorId::gpu(machine_gpu(*call.processor)) : ProcessorId::cpu();
  GpuDevice& gpu = device(process_.gpus.front());
  Duration debt = gpu.spec().driver_costs.advise_call;
  chains_.reset(now());
  for (BlockWork& work :
       process_.services.driver.advise(process_.va_space, call.address, Bytes{call.bytes}, call.advice, processor))
    gpu.perform(work, debt, chains_);
  sleep_until(now() + debt);
  sleep_until(chains_.wait());
  time_ = now();
}

// --- steps on the host

void HostThread::step(const op::HostStep& step) {
  HostWorker::Point after;
  if (const auto joined = workers_.find(step.join); joined != workers_.end()) after = joined->second->point(step.left);
  if (step.thread == 0) {
    catch_up();
    after.wait();
    steps_.run(step);
    time_ = std::max(time_, now());
    return;
  }
  std::unique_ptr<HostWorker>& worker = workers_[step.thread];
  if (!worker)
    worker = std::make_unique<HostWorker>(process_, step.thread, name_ + " host thread " + std::to_string(step.thread));
  worker->hand(step, time_, after);
}

}  // namespace uvmsim
