#include "engine/run.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/check.h"
#include "engine/ahead_thread.h"
#include "engine/clock.h"
#include "engine/coordination.h"
#include "engine/host_thread.h"
#include "machine/link_tree.h"
#include "machine/memory_nodes.h"
#include "metrics/check_result.h"
#include "metrics/result_fields.h"
#include "metrics/steady_state.h"

namespace uvmsim {
namespace {

// What one GPU had done when an iteration began.
struct Snapshot {
  Time at{};
  GpuCounts counts;
  TimeSplit split;
};

// `sum` + `factor` * `b`, counter by counter.
GpuCounts combine(GpuCounts sum, const GpuCounts& b, std::int64_t factor) {
  for_each_member(sum, [&](const auto& field, std::int64_t& value) { value += factor * b.*field.member; });
  return sum;
}

GpuCounts mean(GpuCounts sum, std::int64_t n) {
  for_each_member(sum, [n](const auto&, std::int64_t& value) { value = (value + n / 2) / n; });
  return sum;
}

TimeSplit mean_split(const TimeSplit& from, TimeSplit to, int n) {
  for_each_member(to, [&](const auto& field, double& value) { value = (value - from.*field.member) / n; });
  return to;
}

// Machines made by hand list no memories: those that a machine file gets.
Machine with_memories(Machine machine) {
  if (machine.memories.empty()) machine.memories = unlisted_memories(machine);
  return machine;
}

Machine with_unlimited_memory(Machine machine, std::span<const Process> processes) {
  std::int64_t needed = 0;
  for (const Process& p : processes) {
    VirtualAddress managed = kManagedBase, device = 0;
    for (const Op& op : p.program->ops) {
      if (const auto* m = std::get_if<op::MallocManaged>(&op))
        managed = std::max(managed, m->address + static_cast<VirtualAddress>(m->bytes));
      if (const auto* m = std::get_if<op::MallocDevice>(&op))
        device = std::max(device, m->address + static_cast<VirtualAddress>(m->bytes));
    }
    needed += static_cast<std::int64_t>(managed - kManagedBase + device) + 64 * kBlockBytes;
  }
  for (GpuSpec& gpu : machine.gpus) gpu.usable_memory = std::max(gpu.usable_memory, Bytes{needed});
  return machine;
}

// Whether others than a GPU's own bottom half may change its page tables while one of its kernels runs:
// several processes or GPUs share pages, several streams share the GPU, or the host changes mappings
// without synchronising first, in the issuing thread or in another one.
bool is_shared(const Process& process) {
  if (process.gpus.size() > 1) return true;
  std::set<std::int32_t> streams;
  bool running = false;
  for (const Op& op : process.program->ops) {
    if (const auto* k = std::get_if<op::Kernel>(&op)) running = true, streams.insert(k->stream);
    if (const auto* p = std::get_if<op::Prefetch>(&op)) streams.insert(p->stream);
    if (const auto* c = std::get_if<op::Copy>(&op))
      if (c->operands.count > 0) streams.insert(c->stream);
    if (const auto* d = std::get_if<op::Discard>(&op)) streams.insert(d->stream);
    const auto* s = std::get_if<op::Synchronize>(&op);
    if ((s != nullptr && s->stream < 0) || std::holds_alternative<op::FreeManaged>(op)) running = false;
    const auto* h = std::get_if<op::HostStep>(&op);
    if (h != nullptr && h->thread != 0 && h->operands.count > 0) return true;
    if (running && (std::holds_alternative<op::Advise>(op) || std::holds_alternative<op::MallocDevice>(op) ||
                    (h != nullptr && h->operands.count > 0)))
      return true;
  }
  return streams.size() > 1;
}

std::vector<GpuIndex> gpus_in_use(std::span<const Process> processes) {
  std::set<GpuIndex> gpus;
  for (const Process& p : processes) gpus.insert(p.gpus.begin(), p.gpus.end());
  return {gpus.begin(), gpus.end()};
}

class Simulation {
 public:
  Simulation(const Machine& machine, std::span<const Process> processes, const RunOptions& options)
      : machine_(with_memories(options.unlimited_memory ? with_unlimited_memory(machine, processes) : machine)),
        options_(options),
        fabric_(machine_, options.unlimited_links),
        driver_(machine_),
        services_{machine_,        fabric_, driver_,
                  history_,        gpus_,   [this](Outcome o, std::string why) { stop(o, std::move(why)); },
                  options.observer},
        collectives_(fabric_) {
    std::vector<NodeMemory::Node> nodes;
    for (const MemoryNode& node : machine_.memories)
      nodes.push_back({.name = node.name, .capacity = node.capacity.value});
    services_.node_memory = NodeMemory(std::move(nodes));
    for (const GpuIndex g : machine_.gpus.indices())
      services_.host_cores.try_emplace(server_of(machine_, g), machine_.host.cores);
    gpu_busy_.assign(machine_.gpus.size(), false);
    if (options.observer != nullptr) fabric_.watch(*options.observer);
    if (options.progress) services_.went_on = [this] { go_on(); };
    snapshots_.resize(machine_.gpus.size());
    for (const GpuIndex g : machine_.gpus.indices()) {
      gpus_.push_back(std::make_unique<GpuDevice>(services_, g));
      if (!options.recalls) gpus_[g]->fault_unit().forget();
      gpus_[g]->look_no_further(options.most_ahead);
    }
    for (const GpuIndex g : gpus_.indices()) {
      bottom_halves_.push_back(std::make_unique<BottomHalf>(*gpus_[g]));
      gpu_queues_.push_back(std::make_unique<WaitList>("GPU " + std::to_string(g.value) + " to finish another kernel"));
      work_ahead(g);
    }
    if (options.coordinator != nullptr)
      coordination_.emplace(options.coordinator->make(shared_links(machine_, gpus_in_use(processes))), gpus_);
    if (coordination_) collectives_.set_coordination(*coordination_);
    for (const Process& p : processes) add_process(p);
    collectives_.form_rings();
  }

  Result run() {
    if (!fabric_.flows().run_actors()) {
      result_.outcome = Outcome::Deadlock;
      for (const std::string& line : WaitList::who_waits_for_what())
        result_.detail += (result_.detail.empty() ? "" : "; ") + line;
    }
    return report();
  }

 private:
  void add_process(const Process& process) {
    for (const Op& op : process.program->ops) {
      if (const auto* c = std::get_if<op::Collective>(&op); c != nullptr && !c->peer)
        collectives_.join(*c, process.gpus.at(c->device));
      if (std::holds_alternative<op::Kernel>(op)) ++kernels_total_;
    }
    for (const GpuIndex gpu : process.gpus) {
      if (is_shared(process) || used_[gpu]++ > 0) gpus_[gpu]->set_shared();
    }
    contexts_.push_back(std::make_unique<ProcessContext>(
        ProcessContext{*process.program,
                       driver_.create_va_space(),
                       process.gpus,
                       services_,
                       bottom_halves_,
                       gpu_queues_,
                       gpu_busy_,
                       collectives_,
                       point_to_point_,
                       options_.process_stagger * static_cast<std::int64_t>(contexts_.size()),
                       options_.warmup,
                       options_.from_host,
                       [this](GpuIndex gpu, std::int64_t iteration) { begin_iteration(gpu, iteration); },
                       {},
                       ActionLog(process.program->plan_actions.size())}));
    if (!options_.prefetch_gate.empty()) contexts_.back()->gate = prefetch_gates().find(options_.prefetch_gate)->make();
    driver_.attach(contexts_.back()->va_space, *process.program, process.gpus);
    contexts_.back()->planned = process.planned;
    contexts_.back()->allocator = process.allocator;
    contexts_.back()->enables_peers = process.enables_peers;
    contexts_.back()->coordination = coordination_ ? &*coordination_ : nullptr;
    hosts_.push_back(
        std::make_unique<HostThread>(*contexts_.back(), "process " + std::to_string(contexts_.size() - 1)));
  }

  void work_ahead(GpuIndex gpu) {
    GpuDevice& device = *gpus_[gpu];
    const BottomHalf& bottom_half = *bottom_halves_[gpu];
    const auto start = [&](bool wanted, AheadThread::Kind kind) {
      if (!wanted) return;
      ahead_threads_.push_back(std::make_unique<AheadThread>(device, bottom_half, kind));
      device.set_shared();
    };
    if (driver_.counts_accesses(gpu)) device.set_shared();
    start(driver_.evicts_ahead(), AheadThread::Kind::Evict);
    start(driver_.prefetches_ahead(), AheadThread::Kind::Prefetch);
  }

  void begin_iteration(GpuIndex gpu, std::int64_t iteration) {
    auto& device = *gpus_[gpu];
    auto& snapshots = snapshots_[gpu];
    if (options_.observer != nullptr) options_.observer->iteration(gpu, iteration, now());
    GpuCounts counts = device.counts();
    counts.dead_h2d_bytes = driver_.dead_h2d_bytes(gpu).value;
    if (iteration < 0 && snapshots.empty()) snapshots.push_back({});  // no iterations marked: the run is one
    // Without a warm-up the counts are those of the whole process, set-up included, as a profiler shows them.
    if (snapshots.empty() && options_.warmup == 0) counts = {};
    snapshots.push_back({now(), counts, device.activity().split(now())});
    if (static_cast<int>(snapshots.size()) == options_.warmup + 1 && usage_since_ == Time{}) {
      usage_since_ = now();
      fabric_.reset_usage(usage_since_);
    }
    if (options_.audit) driver_.audit();
  }

  // Tells how far the run is, by the kernels that are over; seldom enough to cost nothing.
  void go_on() {
    constexpr std::uint64_t kEvery = 16;
    if (++steps_ % kEvery != 0) return;
    std::int64_t done = 0;
    for (const auto& g : gpus_) done += g->counts().kernels;
    options_.progress(kernels_total_ > 0 ? static_cast<double>(done) / static_cast<double>(kernels_total_) : 0, now());
  }

  [[noreturn]] void stop(Outcome outcome, std::string why) {
    result_.outcome = outcome;
    result_.detail = std::move(why);
    scheduler().stop();
  }

  Result report() {
    const Program& program = contexts_.front()->program;
    result_.sample_unit = program.sample_unit;
    result_.peak_live_bytes = program.allocator.peak_live_bytes;
    result_.reserved_bytes = program.allocator.peak_reserved_bytes;
    result_.allocators = program.allocator.devices;
    result_.host_peak_bytes = driver_.host_peak_bytes().value;
    result_.events = history_.events();
    result_.history_hash = history_.hash();
    if (result_.outcome == Outcome::Completed && program.out_of_memory) {
      result_.outcome = Outcome::OutOfMemory;
      result_.detail = program.out_of_memory_detail;
    }
    for (const auto& c : contexts_) result_.samples += c->program.samples;
    report_plans();
    pick_iterations();
    for (const GpuIndex g : gpus_.indices())
      if (snapshots_[g].size() > 1) result_.gpus.push_back(report_gpu(g));
    for (const GpuResult& g : result_.gpus) result_.duration_s = std::max(result_.duration_s, g.duration_s);
    result_.links = fabric_.usage(usage_since_, now());
    return std::move(result_);
  }

  // What plans moved is what is held, of the GPUs and of the host; what the program asked for may be more than there
  // is.
  void report_plans() {
    for (std::size_t p = 0; p < contexts_.size(); ++p) {
      const ProcessContext& context = *contexts_[p];
      if (!context.planned) continue;
      const std::vector<ActionOutcome>& outcomes = context.actions.outcomes();
      for (std::size_t a = 0; a < outcomes.size(); ++a) {
        const PlanAction& of = context.program.plan_actions[a];
        ActionOutcome outcome = outcomes[a];
        outcome.gpu = context.gpus[of.device].value;
        outcome.iteration = of.iteration;
        outcome.action = of.action;
        if (outcome.used || outcome.stall_s > 0) result_.plan.actions.push_back(outcome);
      }
      for (const DeviceOrdinal device : context.gpus.indices()) report_device_memory(p, device);
    }
    if (result_.plan.memories.empty()) return;
    for (const NodeMemory::Node& node : services_.node_memory.nodes())
      result_.plan.memories.push_back({node.name, node.peak});
  }

  // Of one device of a process. What an allocator of the plan's tensors did counts, not what the program would do.
  void report_device_memory(std::size_t process, DeviceOrdinal device) {
    const TensorMemory* memory = hosts_[process]->tensor_memory(device);
    if (memory == nullptr) return;
    const std::string gpu = "gpu" + std::to_string(contexts_[process]->gpus[device].value);
    result_.plan.memories.push_back({gpu, memory->device_memory().peak()});
    result_.plan.means.push_back({gpu, memory->mean_held()});
    std::optional<DeviceAllocator> placed = memory->device_memory().placed();
    if (!placed || process > 0) return;
    placed->device = device.value;
    if (device == DeviceOrdinal{}) result_.allocators.clear(), result_.reserved_bytes = 0;
    result_.reserved_bytes += placed->peak.reserved_bytes;
    result_.allocators.push_back(*placed);
  }

  // The same iterations for all GPUs: those of the steady state of their sum.
  void pick_iterations() {
    std::size_t iterations = 0;
    for (const auto& s : snapshots_)
      if (s.size() > 1) iterations = iterations == 0 ? s.size() - 1 : std::min(iterations, s.size() - 1);
    std::vector<double> duration(iterations);
    std::vector<std::int64_t> bytes(iterations);
    for (const auto& s : snapshots_) {
      for (std::size_t i = 0; i < iterations && s.size() > 1; ++i) {
        duration[i] += seconds(s[i + 1].at - s[i].at);
        bytes[i] += s[i + 1].counts.h2d_bytes - s[i].counts.h2d_bytes;
      }
    }
    steady_ = find_steady_state(duration, bytes, options_.warmup);
    result_.warmup_iterations = steady_.first;
    result_.measured_iterations = steady_.count;
    result_.period = steady_.period;
  }

  GpuResult report_gpu(GpuIndex gpu) {
    const auto& s = snapshots_[gpu];
    GpuResult r;
    r.name = "gpu" + std::to_string(gpu.value);
    for (std::size_t i = 0; i + 1 < s.size(); ++i) {
      r.iteration_s.push_back(seconds(s[i + 1].at - s[i].at));
      r.iteration_h2d_bytes.push_back(s[i + 1].counts.h2d_bytes - s[i].counts.h2d_bytes);
    }
    if (steady_.count == 0) return r;
    const Snapshot& from = s[static_cast<std::size_t>(steady_.first)];
    const Snapshot& to = s[static_cast<std::size_t>(steady_.first) + static_cast<std::size_t>(steady_.count)];
    r.counts = mean(combine(to.counts, from.counts, -1), steady_.count);
    r.time_split_s = mean_split(from.split, to.split, steady_.count);
    r.duration_s = r.time_split_s.total();
    return r;
  }

  Machine machine_;
  RunOptions options_;
  Fabric fabric_;
  UvmDriver driver_;
  History history_;
  IndexedVector<GpuIndex, std::unique_ptr<GpuDevice>> gpus_;
  Services services_;
  IndexedVector<GpuIndex, std::unique_ptr<BottomHalf>> bottom_halves_;
  std::vector<std::unique_ptr<AheadThread>> ahead_threads_;
  IndexedVector<GpuIndex, std::unique_ptr<WaitList>> gpu_queues_;
  IndexedVector<GpuIndex, bool> gpu_busy_;
  CollectiveRendezvous collectives_;
  PointToPoint point_to_point_;
  std::optional<Coordination> coordination_;
  std::vector<std::unique_ptr<ProcessContext>> contexts_;
  std::vector<std::unique_ptr<HostThread>> hosts_;
  std::map<GpuIndex, int> used_;
  IndexedVector<GpuIndex, std::vector<Snapshot>> snapshots_;
  Time usage_since_{};
  std::int64_t kernels_total_ = 0;
  std::uint64_t steps_ = 0;  // kernels and fault batches, where somebody wants to know how far it is
  SteadyState steady_;
  Result result_;
};

}  // namespace

Result run(const Machine& machine, std::span<const Process> processes, const RunOptions& options) {
  // Never destroyed: the stacks of actors that have not ended refer to it.
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
  static Simulation* simulation = nullptr;
  simulation = new Simulation(machine, processes, options);
  return checked(simulation->run());
}

}  // namespace uvmsim
