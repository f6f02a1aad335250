#include "workload/pipeline.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/user_error.h"
#include "trace/visitor.h"
#include "trace/without_records.h"
#include "workload/pipeline_cut.h"
#include "workload/repeat.h"
#include "workload/side_by_side.h"
#include "workload/sync_gradients.h"

namespace uvmsim {
namespace {

using trace::TensorId;
using Kind = StageTask::Kind;

constexpr int kMostDevices = 127;  // that a trace numbers

void check(const trace::Trace& trace) {
  if (trace.header.devices.size() > 1) refuse_pipeline(trace, "the trace runs on several devices already");
  for (const trace::Record& record : trace.records) {
    if (std::holds_alternative<trace::CollectiveOp>(record)) refuse_pipeline(trace, "the trace has collectives");
    const auto* kernel = std::get_if<trace::Kernel>(&record);
    if (std::holds_alternative<trace::EventRecord>(record) || (kernel != nullptr && kernel->stream != 0))
      refuse_pipeline(trace, "the trace uses several streams");
  }
}

// As many iterations as there are micro-batches, with one step for each batch of them.
trace::Trace micro_batches_of(const trace::Trace& trace, int micro_batches) {
  if (micro_batches == 1) return trace;
  const auto is_iteration = [](const trace::Record& r) { return std::holds_alternative<trace::Iteration>(r); };
  const auto iterations = static_cast<int>(std::ranges::count_if(trace.records, is_iteration));
  trace::Trace all =
      sync_gradients(repeat_last_iteration(trace, iterations * micro_batches), {.bucket = {}, .every = micro_batches});
  std::erase_if(all.records, [](const trace::Record& r) { return std::holds_alternative<trace::CollectiveOp>(r); });
  return all;
}

// Writes the stages' records in the order of the schedule.
class Writer {
 public:
  Writer(const trace::Trace& in, const PipelineCut& cut, const PipelineShape& shape)
      : in_(in), cut_(cut), shape_(shape), out_(without_records(in)) {
    for (const trace::Record& record : in.records)
      if (const auto* alloc = std::get_if<trace::Alloc>(&record)) {
        allocs_[alloc->tensor] = *alloc;
        next_tensor_ = std::max(next_tensor_, alloc->tensor + 1);
      }
    next_stream_ = shape.stages;
  }

  trace::Trace run() {
    write_header();
    for (std::size_t i = 0; i < cut_.setup(); ++i) set_up(in_.records[i]);
    begin_iteration();
    const auto batches = static_cast<int>(cut_.micro_batches().size()) / shape_.micro_batches;
    for (const ScheduledTask& task :
         run_pipeline(shape_.kind, cut_.times(), shape_.micro_batches, batches, shape_.packs).tasks)
      write(task);
    if (shape_.width > 1 && !summed_)
      refuse_pipeline(in_, "its steps use no weight gradients that pipelines could sum");
    return std::move(out_);
  }

 private:
  int stage_of(int pack) const { return pack % shape_.stages; }

  // A tensor as it is on a stage.
  using Place = std::pair<TensorId, int>;

  void write_header() {
    trace::Header& header = out_.header;
    const auto stages = static_cast<std::size_t>(shape_.stages);
    header.devices.resize(1);
    header.devices.assign(stages, trace::DeviceInfo(header.devices.front()));
    header.samples = header.samples * shape_.micro_batches / shape_.stages;
    header.host_op_ns /= shape_.stages;
  }

  void set_up(const trace::Record& record) {
    if (const auto* alloc = std::get_if<trace::Alloc>(&record)) {
      const int stage = stage_of(cut_.home(alloc->tensor));
      tensor_on(alloc->tensor, stage);
      const bool weight = alloc->kind < in_.header.kinds.size() && in_.header.kinds[alloc->kind] == "param";
      if (weight && shape_.kind == PipelineKind::DoubleBuffered) allocate(*alloc, stage);
      return;
    }
    const auto operands = cut_.accesses(record);
    write_record(record, operands.empty() ? 0 : stage_of(cut_.home(operands.front().tensor)));
  }

  TensorId allocate(trace::Alloc alloc, int stage) {
    alloc.tensor = next_tensor_++;
    alloc.device = static_cast<std::int8_t>(stage);
    alloc.stream = stage;
    out_.records.emplace_back(alloc);
    return alloc.tensor;
  }

  TensorId tensor_on(TensorId tensor, int stage) {
    const auto [at, is_new] = tensors_.try_emplace(Place{tensor, stage});
    if (is_new) at->second = allocate(allocs_.at(tensor), stage);
    return at->second;
  }

  void write(const ScheduledTask& task) {
    const auto number = static_cast<std::size_t>(task.task.micro_batch);
    const PipelineMicroBatch& of = cut_.micro_batches()[number];
    if (task.task.kind == Kind::Step) {
      begin_phase("optimizer");
      if (shape_.width > 1) sum_gradients(number, task.stage);
      for (std::size_t n = number + 1 - static_cast<std::size_t>(shape_.micro_batches); n <= number; ++n)
        for (const std::size_t i : cut_.micro_batches()[n].step) write_step(in_.records[i], task.stage);
      if (task.stage == 0 && number + 1 < cut_.micro_batches().size()) begin_iteration();
      return;
    }
    const bool forward = task.task.kind == Kind::Forward;
    begin_phase(forward ? "forward" : "backward");
    const auto pack = static_cast<std::size_t>(task.stage);
    const int stage = stage_of(task.stage);
    const PipelineChunk& chunk = (forward ? of.forward : of.backward)[pack];
    if (shape_.recompute && forward) keep_inputs(chunk, of, stage);
    if (shape_.recompute && !forward) make_again(of.forward[pack], stage);
    made_.clear();
    for (const std::size_t i : chunk.records) write_record(in_.records[i], stage);
    send(chunk, stage);
    if (shape_.recompute && forward) drop_made(of, stage);
  }

  // Over the replicas of the pack.
  void sum_gradients(std::size_t last, int pack) {
    const int stage = stage_of(pack);
    std::set<TensorId> gradients;
    std::int64_t bytes = 0;
    for (const std::size_t i : cut_.micro_batches()[last].step)
      for (const trace::Access& access : cut_.accesses(in_.records[i])) {
        const trace::Alloc& alloc = allocs_.at(access.tensor);
        const bool gradient = alloc.kind < in_.header.kinds.size() && in_.header.kinds[alloc.kind] == "wgrad";
        if (!gradient || cut_.home(access.tensor) != pack || !gradients.insert(access.tensor).second) continue;
        await(access.tensor, stage);
        bytes += alloc.bytes;
      }
    if (gradients.empty()) return;
    trace::CollectiveOp sum{.communicator = pack + 1,
                            .stream = stage,
                            .bytes = bytes,
                            .accesses = {.first = static_cast<std::uint32_t>(out_.accesses.size()),
                                         .count = static_cast<std::uint32_t>(gradients.size())},
                            .device = static_cast<std::int8_t>(stage)};
    for (const TensorId gradient : gradients)
      out_.accesses.push_back({.tensor = tensor_on(gradient, stage), .mode = trace::Mode::ReadWrite});
    out_.records.emplace_back(sum);
    summed_ = true;
  }

  // --- recomputation

  // What comes from the host or other stages stays until it has been used again.
  void keep_inputs(const PipelineChunk& forward, const PipelineMicroBatch& of, int stage) {
    for (const std::size_t i : forward.records)
      for (const trace::Access& access : cut_.accesses(in_.records[i])) {
        const Place place{access.tensor, stage};
        const bool comes = tensors_.contains(place) || std::holds_alternative<trace::Copy>(in_.records[i]);
        if (comes && of.freed.contains(access.tensor)) inputs_.insert(place);
      }
  }

  void drop_made(const PipelineMicroBatch& of, int stage) {
    for (const TensorId tensor : made_)
      if (of.freed.contains(tensor)) free_on(tensor, stage);
  }

  void make_again(const PipelineChunk& forward, int stage) {
    for (const std::size_t i : forward.records) {
      const trace::Record& record = in_.records[i];
      if (const auto* free = std::get_if<trace::Free>(&record); free && !inputs_.contains({free->tensor, stage}))
        free_on(free->tensor, stage);
      if (std::holds_alternative<trace::Kernel>(record) || std::holds_alternative<trace::Layer>(record))
        write_record(record, stage);
    }
    for (const std::size_t i : forward.records)
      for (const trace::Access& access : cut_.accesses(in_.records[i])) {
        inputs_.erase({access.tensor, stage});
        if (freed_.contains(access.tensor)) free_on(access.tensor, stage);
      }
  }

  // The first pack's step is the last: what follows is the next batch, or what of it is not done yet.
  void begin_iteration() {
    out_.records.emplace_back(trace::Iteration{iteration_++});
    phase_ = -1;
  }

  void begin_phase(const std::string& name) {
    auto at = std::ranges::find(out_.strings, name);
    if (at == out_.strings.end()) at = out_.strings.insert(at, name);
    const auto index = static_cast<trace::StringIndex>(at - out_.strings.begin());
    if (index == phase_) return;
    phase_ = index;
    out_.records.emplace_back(trace::Phase{index});
  }

  void write_record(trace::Record record, int stage) {
    if (std::holds_alternative<trace::Alloc>(record)) return;  // where and when it is first used
    if (const auto* free = std::get_if<trace::Free>(&record)) return free_everywhere(free->tensor);
    if (trace::AccessSpan* span = trace::access_span(record)) {
      const auto operands = cut_.accesses(record);
      for (const trace::Access& access : operands) await(access.tensor, stage);
      const bool kernel = std::holds_alternative<trace::Kernel>(record);
      for (const trace::Access& access : operands)
        if (kernel && access.mode != trace::Mode::Read && !tensors_.contains({access.tensor, stage}))
          made_.insert(access.tensor);
      *span = write_accesses(operands, stage);
    }
    std::visit([&](auto& r) { place(r, stage); }, record);
    out_.records.push_back(record);
  }

  // The part of the step that is this pack's: kernels over several packs' tensors are as long as their bytes. A stage
  // frees in its last step, as another of its packs may use the tensor until then.
  void write_step(trace::Record record, int pack) {
    const int stage = stage_of(pack);
    if (const auto* free = std::get_if<trace::Free>(&record)) {
      if (pack == stage) free_on(free->tensor, stage);
      return;
    }
    if (std::holds_alternative<trace::Layer>(record)) return out_.records.push_back(record);
    std::vector<trace::Access> here;
    std::int64_t bytes = 0, all = 0;
    for (const trace::Access& access : cut_.accesses(record)) {
      const std::int64_t size = allocs_.at(access.tensor).bytes;
      all += size;
      if (cut_.home(access.tensor) != pack) continue;
      bytes += size;
      here.push_back(access);
    }
    if (here.empty()) return;
    if (auto* kernel = std::get_if<trace::Kernel>(&record); kernel != nullptr && bytes < all)
      kernel->duration_ns = static_cast<std::int64_t>(static_cast<double>(kernel->duration_ns) *
                                                      static_cast<double>(bytes) / static_cast<double>(all));
    for (const trace::Access& access : here) await(access.tensor, stage);
    *trace::access_span(record) = write_accesses(here, stage);
    std::visit([&](auto& r) { place(r, stage); }, record);
    out_.records.push_back(record);
  }

  template <class R>
  void place(R& r, int stage) {
    if constexpr (requires { r.device; }) r.device = static_cast<std::int8_t>(stage);
    if constexpr (requires { r.stream; }) r.stream = stage;
    if constexpr (requires {
                    r.tensor;
                    r.offset;
                  })
      r.tensor = tensor_on(r.tensor, stage);
  }

  trace::AccessSpan write_accesses(std::span<const trace::Access> operands, int stage) {
    const auto first = static_cast<std::uint32_t>(out_.accesses.size());
    for (trace::Access access : operands) {
      access.tensor = tensor_on(access.tensor, stage);
      out_.accesses.push_back(access);
    }
    return {first, static_cast<std::uint32_t>(operands.size())};
  }

  void free_everywhere(TensorId tensor) {
    freed_.insert(tensor);
    for (int stage = 0; stage < shape_.stages; ++stage)
      if (!inputs_.contains({tensor, stage})) free_on(tensor, stage);
  }
  void free_on(TensorId tensor, int stage) {
    const auto at = tensors_.find({tensor, stage});
    if (at == tensors_.end()) return;
    out_.records.emplace_back(trace::Free{at->second});
    arrivals_.erase(at->first);
    tensors_.erase(at);
  }

  // --- from stage to stage

  void send(const PipelineChunk& chunk, int from) {
    if (chunk.sends.empty()) return;
    const std::int32_t made = next_event_++;
    out_.records.emplace_back(trace::EventRecord{made, from});
    for (const auto& [tensor, to] : chunk.sends) {
      if (!tensors_.contains({tensor, from})) continue;  // freed before anybody read it
      const TensorId source = tensor_on(tensor, from), target = tensor_on(tensor, to);
      const std::int64_t bytes = allocs_.at(tensor).bytes;
      const auto [out, in] = streams(from, to);
      out_.records.emplace_back(trace::EventWait{made, out});
      exchange(trace::Collective::Send, out, bytes, source, from, to);
      exchange(trace::Collective::Receive, in, bytes, target, to, from);
      arrivals_[{tensor, to}] = next_event_;
      out_.records.emplace_back(trace::EventRecord{next_event_++, in});
    }
  }

  void exchange(trace::Collective kind, std::int32_t stream, std::int64_t bytes, TensorId tensor, int device,
                int peer) {
    const auto first = static_cast<std::uint32_t>(out_.accesses.size());
    out_.accesses.push_back(
        {.tensor = tensor, .mode = kind == trace::Collective::Send ? trace::Mode::Read : trace::Mode::Write});
    out_.records.emplace_back(trace::CollectiveOp{.kind = kind,
                                                  .stream = stream,
                                                  .bytes = bytes,
                                                  .accesses = {first, 1},
                                                  .device = static_cast<std::int8_t>(device),
                                                  .peer = static_cast<std::int8_t>(peer)});
  }

  // Of the sender and the receiver.
  std::pair<std::int32_t, std::int32_t> streams(int from, int to) {
    const auto [at, is_new] = streams_.try_emplace({from, to});
    if (is_new) at->second = {next_stream_, next_stream_ + 1}, next_stream_ += 2;
    return at->second;
  }

  // The stage's stream waits for what is under way to it.
  void await(TensorId tensor, int stage) {
    const auto at = arrivals_.find({tensor, stage});
    if (at == arrivals_.end()) return;
    out_.records.emplace_back(trace::EventWait{at->second, stage});
    arrivals_.erase(at);
  }

  const trace::Trace& in_;
  const PipelineCut& cut_;
  const PipelineShape& shape_;
  trace::Trace out_;
  std::map<TensorId, trace::Alloc> allocs_;
  std::map<Place, TensorId> tensors_;       // those that live
  std::set<TensorId> made_;                 // by kernels of the part that is written
  std::set<TensorId> freed_;                // that the program has freed
  std::set<Place> inputs_;                  // to be used again by what is recomputed
  std::map<Place, std::int32_t> arrivals_;  // events of receives that nobody has waited for
  std::map<std::pair<int, int>, std::pair<std::int32_t, std::int32_t>> streams_;
  TensorId next_tensor_ = 1;
  std::int32_t next_stream_ = 0, next_event_ = 0;
  trace::StringIndex phase_ = -1;
  std::int64_t iteration_ = 0;
  bool summed_ = false;
};

}  // namespace

trace::Trace pipeline(const trace::Trace& trace, const PipelineShape& shape) {
  check(trace);
  if (shape.kind == PipelineKind::DoubleBuffered && shape.micro_batches < shape.stages)
    refuse_pipeline(trace, std::to_string(shape.micro_batches) + " micro-batches in " + std::to_string(shape.stages) +
                               " stages need more than two versions of the weights");
  if (shape.width * shape.stages > kMostDevices)
    refuse_pipeline(trace, std::to_string(shape.width) + " pipelines of " + std::to_string(shape.stages) +
                               " stages make " + std::to_string(shape.width * shape.stages) + " GPUs, of at most " +
                               std::to_string(kMostDevices));
  if (shape.packs > 1 && shape.kind != PipelineKind::GPipe)
    refuse_pipeline(trace, "packs in turns go with the schedule gpipe alone");
  if (shape.packs > 1 && shape.recompute) refuse_pipeline(trace, "packs in turns are not recomputed");
  const trace::Trace micro_batches = micro_batches_of(trace, shape.micro_batches);
  const PipelineCut cut(micro_batches, shape);
  const trace::Trace one = Writer(micro_batches, cut, shape).run();
  return shape.width > 1 ? side_by_side(one, shape.width) : one;
}

}  // namespace uvmsim
