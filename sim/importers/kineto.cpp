// PyTorch's profiler (Kineto's Chrome JSON), with ExecutionTraceObserver's JSON of the same run if there is one.
//
// Kernels stand where their launch was called, and belong to the innermost operator that encloses that call on its
// thread. (Their External id is the operator's from PyTorch 2.2 on; before it is CUPTI's correlation id.) With the
// observer's file their operands are exact: operator -> node by record function id. Without it they are matched: an
// operator writes what was allocated while it ran, and reads for each input the block of that size that was used last.
#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "importers/importer.h"
#include "importers/issue_order.h"
#include "importers/kineto_events.h"
#include "importers/kineto_operands.h"
#include "importers/nccl.h"
#include "importers/observer_join.h"
#include "importers/operator_kernels.h"

namespace uvmsim {
namespace {

// What happened on the host at one time, by index into the events.
struct Moment {
  enum class Kind : std::uint8_t { Step, Memory, Call, GpuOp };
  std::int64_t time = 0;
  Kind kind = Kind::Call;
  std::size_t index = 0;
};

class Conversion {
 public:
  Conversion(const KinetoEvents& events, const OperatorAccesses* operators, ImportBuilder& into)
      : events_(events), into_(into), matches_(into, events), operator_kernels_(into) {
    if (operators != nullptr) storages_.emplace(into, *operators);
  }

  void run() {
    order();
    describe();
    if (storages_) announce();
    if (!storages_) before_the_recording();
    for (const Moment& moment : moments_) {
      switch (moment.kind) {
        case Moment::Kind::Step:
          into_.iteration();
          place_.layer = "";
          break;
        case Moment::Kind::Memory:
          memory(events_.memory[moment.index]);
          break;
        case Moment::Kind::Call:
          call(events_.calls[moment.index]);
          break;
        case Moment::Kind::GpuOp:
          if (early_[moment.index])
            into_.unknown("kernels and copies: called before the recording began; left out");
          else
            gpu_op(events_.gpu_ops[moment.index]);
          break;
      }
    }
  }

 private:
  void order() {
    for (std::size_t i = 0; i < events_.calls.size(); ++i)
      if (events_.calls[i].correlation >= 0) call_of_.try_emplace(events_.calls[i].correlation, i);
    find_externals();
    std::vector<StreamWork> work;
    for (const KinetoGpuOp& op : events_.gpu_ops) {
      const KinetoCall* call = launch(op);
      work.push_back({op.device, op.stream, op.start, call == nullptr ? -1 : call->start});
    }
    find_early(work);
    order_streams(work);
    const auto add = [&](Moment::Kind kind, std::size_t count, const auto& time) {
      for (std::size_t i = 0; i < count; ++i) moments_.push_back({time(i), kind, i});
    };
    const std::vector<std::int64_t> steps = events_.ranges.iterations();
    add(Moment::Kind::Step, steps.size(), [&](std::size_t i) { return steps[i]; });
    add(Moment::Kind::Memory, events_.memory.size(), [&](std::size_t i) { return events_.memory[i].time; });
    add(Moment::Kind::Call, events_.calls.size(), [&](std::size_t i) { return events_.calls[i].start; });
    add(Moment::Kind::GpuOp, events_.gpu_ops.size(), [&](std::size_t i) { return work[i].issued; });
    std::ranges::stable_sort(moments_, {}, [](const Moment& m) { return std::pair(m.time, m.kind); });
    drop_empty_step();
  }

  // What ran before everything on its stream whose call is recorded was called before the recording began.
  void find_early(const std::vector<StreamWork>& work) {
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> called;  // start of the first one
    for (const StreamWork& one : work) {
      if (one.issued < 0) continue;
      const auto [first, added] = called.try_emplace({one.device, one.stream}, one.start);
      if (!added) first->second = std::min(first->second, one.start);
    }
    for (const StreamWork& one : work) {
      const auto first = called.find({one.device, one.stream});
      early_.push_back(one.issued < 0 && first != called.end() && one.start < first->second);
    }
  }

  // The last ProfilerStep begins when the profiler stops: one without kernels is none.
  void drop_empty_step() {
    const auto is_work = [](const Moment& m) { return m.kind == Moment::Kind::GpuOp; };
    const auto last = std::ranges::find(moments_.rbegin(), moments_.rend(), Moment::Kind::Step, &Moment::kind);
    if (last != moments_.rend() && std::none_of(moments_.rbegin(), last, is_work)) moments_.erase(last.base() - 1);
  }

  // External ids name operators where they do for most kernels whose launch says which operator it is.
  void find_externals() {
    std::int64_t same = 0, other = 0;
    for (const KinetoGpuOp& op : events_.gpu_ops) {
      const KinetoCall* call = launch(op);
      if (call == nullptr || call->op < 0) continue;
      ++(events_.ops[static_cast<std::size_t>(call->op)].external == op.external ? same : other);
    }
    if (same <= other) return;
    for (std::size_t i = 0; i < events_.ops.size(); ++i)
      if (events_.ops[i].external >= 0) by_external_.emplace_back(events_.ops[i].external, i);
    std::ranges::sort(by_external_);
  }

  // A call that began after the kernel's end has the same correlation by chance.
  const KinetoCall* launch(const KinetoGpuOp& op) const {
    const auto found = call_of_.find(op.correlation);
    if (found == call_of_.end()) return nullptr;
    const KinetoCall& call = events_.calls[found->second];
    return call.start > op.start + op.duration ? nullptr : &call;
  }
  const KinetoOp* operator_of(const KinetoGpuOp& op) const {
    const KinetoCall* call = launch(op);
    if (call != nullptr && call->graph) return nullptr;  // captured operators are not recorded again
    if (call != nullptr && call->op >= 0) return &events_.ops[static_cast<std::size_t>(call->op)];
    const auto found = std::ranges::lower_bound(by_external_, op.external, {}, &External::first);
    return found == by_external_.end() || found->first != op.external ? nullptr : &events_.ops[found->second];
  }

  void describe() {
    trace::Header& header = into_.header();
    header.provenance = storages_ ? "Kineto trace of torch.profiler with an ExecutionTraceObserver's"
                                  : "Kineto trace of torch.profiler";
    header.provenance += "; host times include the profiler's own";
    header.durations = "measured by CUPTI in the profiled run";
    header.durations_status = "measured";
    header.operands_status = storages_ ? "exact" : events_.memory.empty() ? "none" : "heuristic";
    std::vector<std::int64_t> launches;
    for (const KinetoCall& call : events_.calls)
      if (call.kind == KinetoCall::Kind::Launch) launches.push_back(call.end - call.start);
    header.host_op_ns = checked(median(launches), trace::kTimes, "the time of a launch in ns");
    for (const auto& [id, info] : events_.devices)
      if (id >= 0 && id < 128) into_.device(id, info);
  }

  void announce() {
    for (const Moment& moment : moments_)
      if (moment.kind == Moment::Kind::GpuOp) {
        const KinetoGpuOp& op = events_.gpu_ops[moment.index];
        const KinetoOp* by = op.kind == KinetoGpuOp::Kind::Kernel ? operator_of(op) : nullptr;
        if (by != nullptr) storages_->announce(by->function);
      }
    storages_->rewind();
    const auto left_out = static_cast<std::int64_t>(events_.memory.size());
    if (left_out > 0)
      into_.unknown("allocator events: left out, because the observer's storages have no addresses", left_out);
    into_.unknown("files without frees: a storage is freed after the last kernel that names it");
  }

  // What is freed without having been allocated was there before: it is allocated in set-up.
  void before_the_recording() {
    std::map<std::int64_t, std::int64_t> live, before;  // by address; by device
    for (const Moment& moment : moments_) {
      if (moment.kind != Moment::Kind::Memory) continue;
      const KinetoMemory& event = events_.memory[moment.index];
      if (event.bytes > 0) {
        live[event.address] = event.bytes;
      } else if (event.bytes < 0 && live.erase(event.address) == 0) {
        into_.unknown("tensors: allocated before the recording began");
        KinetoMemory earlier = event;
        earlier.bytes = -event.bytes;
        memory(earlier);
        before[event.device] += earlier.bytes;
      }
    }
    resident_base(before);
  }

  // What the allocator held before the first event, and never freed: parameters, for example.
  void resident_base(const std::map<std::int64_t, std::int64_t>& known) {
    std::map<std::int64_t, std::int64_t> held;
    for (const Moment& moment : moments_) {
      if (moment.kind != Moment::Kind::Memory) continue;
      const KinetoMemory& event = events_.memory[moment.index];
      if (event.total >= 0) held.try_emplace(event.device, event.total - event.bytes);
    }
    for (const auto& [device, bytes] : held) {
      const auto found = known.find(device);
      const std::int64_t base = bytes - (found == known.end() ? 0 : found->second);
      if (base <= 0) continue;
      into_.allocate(base, {.device = device});
      into_.unknown(
          "bytes: allocated before the recording began and kept; one block, of which no kernel is known to use any",
          base);
    }
  }

  void memory(const KinetoMemory& event) {
    if (storages_) return;
    const auto address = static_cast<std::uint64_t>(event.address);
    if (event.bytes > 0)
      matches_.allocated(into_.allocate_at(address, event.bytes, {.device = event.device}), event);
    else if (event.bytes < 0)
      into_.free_at(address);
  }

  void call(const KinetoCall& call) {
    pending_gap_ += clock_.call(call.start, call.end);
    switch (call.kind) {
      case KinetoCall::Kind::Synchronize:
        host_step();
        return into_.synchronize_device();
      case KinetoCall::Kind::StreamSynchronize:
      case KinetoCall::Kind::EventSynchronize: {
        host_step();
        const auto stream = events_.wait_streams.find(call.correlation);
        if (stream != events_.wait_streams.end()) return into_.synchronize(0, stream->second);
        into_.unknown("waits of the host for a stream or event: of which is not said, so it waits for the device");
        return into_.synchronize_device();
      }
      case KinetoCall::Kind::StreamWait:
        return into_.unknown("waits of a stream for an event: of which is not said; left out");
      default:
        return;
    }
  }

  void host_step() {
    if (pending_gap_ > 0) into_.host_step(pending_gap_);
    pending_gap_ = 0;
  }

  // Layers and phases are those of the call.
  void place(const KinetoCall& call) {
    const HostRanges::Place now = events_.ranges.at(call.thread, call.start);
    if (now.phase != place_.phase) into_.phase(now.phase.empty() ? "other" : now.phase);
    if (now.layer != place_.layer) into_.layer(now.layer);
    place_ = now;
  }

  // What the file says of a kernel of NCCL; nullptr: not how many bytes it has.
  const KinetoCollective* collective_of(const KinetoGpuOp& op) const {
    if (op.kind != KinetoGpuOp::Kind::Kernel || !is_nccl_kernel(events_.names[static_cast<std::size_t>(op.name)]))
      return nullptr;
    std::int32_t index = op.collective;
    const KinetoCall* call = launch(op);
    if (index < 0 && call != nullptr) {
      const auto after = std::ranges::upper_bound(events_.nccl_calls, std::pair(call->thread, call->start), {},
                                                  [](const KinetoNcclCall& c) { return std::pair(c.thread, c.start); });
      if (after != events_.nccl_calls.begin())
        if (const auto& nccl = *std::prev(after); nccl.thread == call->thread && nccl.end >= call->start)
          index = nccl.collective;
    }
    if (index < 0) return nullptr;
    const KinetoCollective& found = events_.collectives[static_cast<std::size_t>(index)];
    return found.in > 0 || found.out > 0 ? &found : nullptr;
  }

  void collective(const KinetoGpuOp& op, const KinetoCollective& facts) {
    const KinetoOp* by = operator_of(op);
    std::vector<trace::Access> operands;
    if (!storages_)
      operands = matches_.operands(facts);
    else if (auto exact = by == nullptr ? std::nullopt : storages_->operands(by->function, op.device))
      operands = std::move(*exact);
    if (operands.empty()) into_.unknown(std::string(kNcclTouchesNothing));
    host_step();
    into_.collective({.kind = facts.kind,
                      .communicator = facts.communicator,
                      .device = op.device,
                      .stream = op.stream,
                      .bytes = std::max(facts.in, facts.out),
                      .ranks = facts.ranks,
                      .duration_ns = op.duration},
                     std::move(operands));
    if (by != nullptr && storages_) storages_->release(by->function);
  }

  void gpu_op(const KinetoGpuOp& op) {
    const KinetoCall* call = launch(op);
    if (call == nullptr)
      into_.unknown("kernels and copies: no call is recorded; they stand behind what ran before them on their stream");
    else
      place(*call);
    if (const KinetoCollective* facts = collective_of(op)) return collective(op, *facts);
    if (op.kind != KinetoGpuOp::Kind::Kernel) {
      into_.unknown("copies and memsets: their operands are not recorded");
      return into_.copy({.direction = op.direction,
                         .device = op.device,
                         .stream = op.stream,
                         .bytes = op.bytes,
                         .pinned = op.pinned});
    }
    kernel(op, call);
  }

  void kernel(const KinetoGpuOp& op, const KinetoCall* call) {
    const std::string& name = events_.names[static_cast<std::size_t>(op.name)];
    if (is_nccl_kernel(name)) into_.unknown(std::string(kNcclStaysKernel));
    const KinetoOp* by = operator_of(op);
    std::vector<trace::Access> operands;
    if (by == nullptr) {
      into_.unknown(call != nullptr && call->graph
                        ? "kernels of CUDA graphs: no operators are recorded; they touch nothing"
                        : "kernels: no operator is recorded for them; they touch nothing");
    } else if (storages_) {
      if (auto exact = storages_->operands(by->function, op.device))
        operands = operator_kernels_.operands({.call = by->function,
                                               .op = events_.names[static_cast<std::size_t>(by->name)],
                                               .kernel = name,
                                               .grid = op.grid,
                                               .block = op.block},
                                              std::move(*exact));
      else
        into_.unknown("kernels: the observer has no such operator; they touch nothing");
    } else {
      operands = matches_.operands(*by);
    }
    into_.kernel({.name = name,
                  .device = op.device,
                  .stream = op.stream,
                  .duration_ns = op.duration,
                  .gap_ns = pending_gap_,
                  .grid = product_of(op.grid),
                  .block = op.block,
                  .registers = op.registers,
                  .shared_memory = op.shared_memory},
                 std::move(operands));
    pending_gap_ = 0;
    if (by != nullptr && storages_) storages_->release(by->function);
  }

  const KinetoEvents& events_;
  ImportBuilder& into_;
  KinetoMatches matches_;
  std::optional<KinetoStorages> storages_;
  OperatorKernels operator_kernels_;
  std::unordered_map<std::int64_t, std::size_t> call_of_;  // by correlation
  using External = std::pair<std::int64_t, std::size_t>;
  std::vector<External> by_external_;  // operators; empty where the ids are not theirs
  std::vector<Moment> moments_;
  std::vector<bool> early_;  // of the GPU's operations: called before the recording began
  HostRanges::Place place_;  // of what came last in this iteration
  HostClock clock_;
  std::int64_t pending_gap_ = 0;  // host time since the last kernel's launch, calls excluded
};

class KinetoImporter final : public Importer {
 public:
  std::string role(std::string_view head) const override {
    const auto has = [&](std::string_view part) { return head.find(part) != head.npos; };
    const std::size_t first = head.find_first_not_of(" \t\r\n");
    if (first == head.npos || (head[first] != '{' && head[first] != '[')) return "";
    if (has("\"nodes\"") && has("\"schema\"")) return "operators";
    if (has("\"traceEvents\"") || (head[first] == '[' && has("\"ph\"")) ||
        (has("\"schemaVersion\"") && has("\"deviceProperties\"")))
      return "events";
    return "";
  }

  void import(const std::vector<ImportPart>& parts, ImportBuilder& into, trace::ErrorList& errors) const override {
    const ImportFile *events_file = nullptr, *operators_file = nullptr;
    for (const ImportPart& part : parts) {
      const ImportFile*& slot = part.role == "events" ? events_file : operators_file;
      if (slot != nullptr) errors.add(part.file->name(), "is a second file of " + part.role + "; expected one of each");
      slot = part.file;
    }
    if (events_file == nullptr) {
      errors.add(parts.front().file->name(), "has no times; expected also the Kineto trace of the same run");
      return;
    }
    KinetoEvents events = read_kineto(*events_file, errors);
    ExecutionTrace observed;
    if (operators_file != nullptr) observed = read_execution_trace(*operators_file, errors);
    if (!errors.empty()) return;
    const auto has_function = [](const KinetoOp& op) { return op.function >= 0; };
    if (operators_file != nullptr && std::ranges::none_of(events.ops, has_function) &&
        join_by_order(observed.operators, events) == 0) {
      errors.add(
          events_file->name(),
          "gives no operator a \"Record function id\", as PyTorch before 2.2 does, and the observer's operators do not "
          "occur in it once, in their order: record both over the same steps, or import this file alone");
      return;
    }
    if (events.gpu_ops.empty()) {
      errors.add(events_file->name(), "expected kernels of a GPU; the profiler recorded none");
      return;
    }
    Conversion(events, operators_file == nullptr ? nullptr : &observed.accesses, into).run();
  }
};

const bool kRegistered = add_plug_in<Importer, KinetoImporter>(
    {.name = "kineto",
     .summary = "torch.profiler's Chrome JSON, with an ExecutionTraceObserver's JSON of the same run if there is one",
     .source = "pytorch/kineto, torch/csrc/profiler/standalone/execution_trace_observer.cpp"});

}  // namespace
}  // namespace uvmsim
