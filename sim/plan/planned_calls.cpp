#include "plan/planned_calls.h"

#include <algorithm>
#include <unordered_map>

#include "plan/profile.h"
#include "plan/tensor_lives.h"

namespace uvmsim {
namespace {

// What ordinals mean in one iteration.
struct Iteration {
  IterationShape shape{};
  std::vector<std::size_t> kernels;      // records
  std::vector<trace::TensorId> tensors;  // by ordinal
  std::vector<std::size_t> made, freed;  // records, by ordinal; freed: the number of records when it is not
};

std::vector<Iteration> iterations_of(const trace::Trace& trace, int device) {
  std::vector<Iteration> iterations;
  std::vector<std::pair<trace::TensorId, std::size_t>> live;  // and where it was allocated
  std::unordered_map<trace::TensorId, std::size_t> ordinal;   // in the last iteration
  for (std::size_t i = 0; i < trace.records.size(); ++i) {
    const trace::Record& record = trace.records[i];
    if (std::holds_alternative<trace::Iteration>(record)) {
      iterations.emplace_back();
      ordinal.clear();
      for (const auto& [tensor, at] : live) {
        ordinal[tensor] = iterations.back().tensors.size();
        iterations.back().tensors.push_back(tensor);
        iterations.back().made.push_back(at);
        iterations.back().freed.push_back(trace.records.size());
      }
      iterations.back().shape.held = static_cast<std::int32_t>(live.size());
    }
    if (const auto* a = std::get_if<trace::Alloc>(&record); a != nullptr && counts_in_plans(*a, device)) {
      live.emplace_back(a->tensor, i);
      if (iterations.empty()) continue;
      ordinal[a->tensor] = iterations.back().tensors.size();
      iterations.back().tensors.push_back(a->tensor);
      iterations.back().made.push_back(i);
      iterations.back().freed.push_back(trace.records.size());
      ++iterations.back().shape.made;
    }
    if (const auto* f = std::get_if<trace::Free>(&record)) {
      std::erase_if(live, [&](const auto& l) { return l.first == f->tensor; });
      if (const auto found = ordinal.find(f->tensor); found != ordinal.end())
        iterations.back().freed[found->second] = i;
    }
    if (const auto* k = std::get_if<trace::Kernel>(&record);
        k != nullptr && k->device == device && !iterations.empty()) {
      iterations.back().kernels.push_back(i);
      ++iterations.back().shape.kernels;
    }
  }
  return iterations;
}

class Writer {
 public:
  Writer(const trace::Trace& trace, int device)
      : trace_(trace), device_(device), side_(first_free_stream(trace)), event_(first_free_event(trace)) {}

  void write(const Iteration& now, const Iteration* next, const Plan& plan) {
    const std::vector<Call> calls = calls_of(plan);
    for (std::size_t n = 0; n < calls.size(); ++n)
      write(now, next, calls[n], event_ + 2 * static_cast<std::int32_t>(n));
  }

  std::vector<InsertedCall> take() {
    std::ranges::stable_sort(calls_, {}, &InsertedCall::at);
    return std::move(calls_);
  }

 private:
  void write(const Iteration& now, const Iteration* next, const Call& call, std::int32_t event) {
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
    add(at, record_of(call, now.tensors[tensor], stream));
    if (stream == own || call.awaited_by < 0) return;
    const bool later = call.awaited_by < call.kernel || (call.awaited_by == call.kernel && call.after);
    const Iteration* when = later ? next : &now;
    if (when == nullptr || when->shape != now.shape) return;
    const std::size_t waits = when->kernels[static_cast<std::size_t>(call.awaited_by)];
    add(at, trace::EventRecord{event + 1, side});
    add(waits, trace::EventWait{event + 1, std::get<trace::Kernel>(trace_.records[waits]).stream});
  }

  trace::Record record_of(const Call& c, trace::TensorId tensor, std::int32_t stream) const {
    const auto where = static_cast<std::int8_t>(c.to_cpu ? -1 : device_);
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
  const int device_;
  const std::int32_t side_, event_;
  std::vector<InsertedCall> calls_;
};

}  // namespace

std::vector<InsertedCall> planned_calls(const trace::Trace& trace, int device, std::span<const Plan> plans) {
  const std::vector<Iteration> iterations = iterations_of(trace, device);
  Writer writer(trace, device);
  for (std::size_t i = 0; i < iterations.size(); ++i)
    for (const Plan& plan : plans)
      if (plan.iteration == iterations[i].shape)
        writer.write(iterations[i], i + 1 < iterations.size() ? &iterations[i + 1] : nullptr, plan);
  return writer.take();
}

}  // namespace uvmsim
