#include "plan/lower_managed.h"

#include <algorithm>
#include <set>
#include <span>

#include "plan/lower.h"
#include "plan/tensor_lives.h"

namespace uvmsim {
namespace {

Call prefetch(const TensorInterval& of, const Trigger& at, bool to_cpu) {
  return {.kind = Call::Kind::Prefetch,
          .kernel = at.on == Trigger::On::Access ? of.next_use : at.kernel,
          .after = at.on == Trigger::On::AfterKernel,
          .tensor = of.tensor,
          .to_cpu = to_cpu,
          .stream = Call::Stream::Side};
}

void append(const Move& m, std::vector<Call>& calls) {
  calls.push_back(prefetch(m.of, m.out.at, true));
  Call in = prefetch(m.of, m.in.at, false);
  if (m.in.at.on == Trigger::On::Access) in.stream = Call::Stream::Kernel;
  if (in.stream == Call::Stream::Side && m.in.sync != Sync::None) in.awaited_by = m.of.next_use;
  calls.push_back(in);
}
void append(const Drop& d, std::vector<Call>& calls) {
  calls.push_back({.kind = Call::Kind::Discard,
                   .kernel = d.at.kernel,
                   .after = d.at.on == Trigger::On::AfterKernel,
                   .tensor = d.of.tensor});
}
template <class A>
void append(const A&, std::vector<Call>&) {}

class Writer {
 public:
  // `most_calls`: that a plan makes.
  Writer(const trace::Trace& trace, DeviceOrdinal device, std::size_t most_calls)
      : trace_(trace),
        device_(device),
        side_(first_free_stream(trace)),
        event_(first_free_event(trace)),
        users_(event_ + 2 * static_cast<std::int32_t>(most_calls)) {
    std::set<std::int32_t> streams;
    for (const trace::Record& record : trace.records)
      if (const auto* k = std::get_if<trace::Kernel>(&record); k != nullptr && DeviceOrdinal{k->device} == device)
        streams.insert(k->stream);
    several_streams_ = streams.size() > 1;
  }

  void write(const IterationRecords& now, const IterationRecords* next, const Plan& plan) {
    const std::vector<Call> calls = calls_of(plan);
    for (std::size_t n = 0; n < calls.size(); ++n)
      write(now, next, calls[n], event_ + 2 * static_cast<std::int32_t>(n));
  }

  std::vector<InsertedCall> take() {
    std::ranges::stable_sort(calls_, {}, &InsertedCall::at);
    return std::move(calls_);
  }

 private:
  void write(const IterationRecords& now, const IterationRecords* next, const Call& call, std::int32_t event) {
    const std::size_t record = now.kernels[static_cast<std::size_t>(call.kernel)];
    const std::size_t at = record + (call.after ? 1 : 0);
    const auto tensor = static_cast<std::size_t>(call.tensor);
    if (now.made[tensor] >= at || now.freed[tensor] < at) return;
    const std::int32_t own = std::get<trace::Kernel>(trace_.records[record]).stream;
    const std::int32_t side = call.kind == Call::Kind::Prefetch && call.to_cpu ? side_ : side_ + 1;
    const std::int32_t stream = call.stream == Call::Stream::Side ? side : own;
    if (stream != own) {
      add(at, trace::EventRecord{event, own});
      add(at, trace::EventWait{event, side});
    }
    if (several_streams_ && (call.kind == Call::Kind::Discard || call.kind == Call::Kind::DiscardLazy))
      wait_for_users(now, call, at, stream);
    add(at, record_of(call, now.tensors[tensor], stream));
    if (stream == own || call.awaited_by < 0) return;
    const bool later = call.awaited_by < call.kernel || (call.awaited_by == call.kernel && call.after);
    const IterationRecords* when = later ? next : &now;
    if (when == nullptr || when->shape != now.shape) return;
    const std::size_t waits = when->kernels[static_cast<std::size_t>(call.awaited_by)];
    add(at, trace::EventRecord{event + 1, side});
    add(waits, trace::EventWait{event + 1, std::get<trace::Kernel>(trace_.records[waits]).stream});
  }

  // What is discarded on `stream` may be in use on others still.
  void wait_for_users(const IterationRecords& now, const Call& call, std::size_t at, std::int32_t stream) {
    std::set<std::int32_t> others;
    for (const std::size_t record : now.kernels) {
      if (record >= at) break;
      const auto& kernel = std::get<trace::Kernel>(trace_.records[record]);
      const auto operands = std::span(trace_.accesses).subspan(kernel.accesses.first, kernel.accesses.count);
      const trace::TensorId tensor = now.tensors[static_cast<std::size_t>(call.tensor)];
      if (kernel.stream != stream && std::ranges::find(operands, tensor, &trace::Access::tensor) != operands.end())
        others.insert(kernel.stream);
    }
    for (const std::int32_t other : others) {
      add(at, trace::EventRecord{users_, other});
      add(at, trace::EventWait{users_, stream});
    }
  }

  trace::Record record_of(const Call& c, trace::TensorId tensor, std::int32_t stream) const {
    const auto where = static_cast<std::int8_t>(c.to_cpu ? -1 : device_.value);
    switch (c.kind) {
      case Call::Kind::Prefetch:
        return trace::Prefetch{
            .tensor = tensor, .offset = c.offset, .length = c.bytes, .destination = where, .stream = stream};
      case Call::Kind::Advise: {
        const auto advice = static_cast<std::int8_t>(c.advice);
        return trace::Advise{.tensor = tensor,
                             .offset = c.offset,
                             .length = c.bytes,
                             .advice = static_cast<std::int8_t>(c.unset ? -advice : advice),
                             .device = where};
      }
      case Call::Kind::Discard:
      case Call::Kind::DiscardLazy:
        break;
    }
    return trace::Discard{.tensor = tensor,
                          .offset = c.offset,
                          .length = c.bytes,
                          .stream = stream,
                          .lazy = c.kind == Call::Kind::DiscardLazy};
  }

  void add(std::size_t at, trace::Record record) { calls_.push_back({at, std::move(record)}); }

  const trace::Trace& trace_;
  const DeviceOrdinal device_;
  const std::int32_t side_, event_;
  const std::int32_t users_;  // event
  bool several_streams_ = false;
  std::vector<InsertedCall> calls_;
};

}  // namespace

std::vector<Call> calls_of(const Plan& plan) {
  std::vector<Call> calls = plan.calls;
  for (const Action& action : plan.actions) std::visit([&](const auto& a) { append(a, calls); }, action);
  std::ranges::stable_sort(
      calls, [](const Call& a, const Call& b) { return std::pair(a.kernel, a.after) < std::pair(b.kernel, b.after); });
  return calls;
}

std::string why_not_managed(const Action& action) {
  if (const auto* move = std::get_if<Move>(&action)) {
    if (!move->to.empty()) return "managed memory moves to host memory only: cudaMemPrefetchAsync names no other node";
    if (!move->codec.empty()) return "the driver encodes nothing that it migrates";
    return "";
  }
  if (std::holds_alternative<Drop>(action)) return "";
  if (std::holds_alternative<Recompute>(action)) return "no call of managed memory frees what a kernel makes again";
  if (std::holds_alternative<Encode>(action)) return "managed memory keeps its addresses: nothing is freed";
  return "the host would fault on what it computes with";
}

std::vector<InsertedCall> lower_managed(const trace::Trace& trace, DeviceOrdinal device, std::span<const Plan> plans) {
  const std::vector<IterationRecords> iterations = iterations_of(trace, device);
  std::size_t most_calls = 0;
  for (const Plan& plan : plans) most_calls = std::max(most_calls, calls_of(plan).size());
  Writer writer(trace, device, most_calls);
  for (std::size_t i = 0; i < iterations.size(); ++i)
    if (const Plan* plan = plan_for(plans, plans.empty() ? GpuIndex{} : plans.front().gpu, iterations[i].shape,
                                    static_cast<std::int32_t>(i)))
      writer.write(iterations[i], i + 1 < iterations.size() ? &iterations[i + 1] : nullptr, *plan);
  return writer.take();
}

}  // namespace uvmsim
