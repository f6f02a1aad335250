#include "workload/split_batch.h"

#include <algorithm>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/user_error.h"
#include "trace/visitor.h"
#include "trace/without_records.h"
#include "workload/accumulate_gradients.h"
#include "workload/edit.h"
#include "workload/iterations.h"
#include "workload/waves.h"

namespace uvmsim {
namespace {

using trace::TensorId;

// Bytes of a kernel's operands.
struct Traffic {
  double touched = 0;        // that it moves at least
  std::int64_t written = 0;  // of its largest result
};

// By record; none for other records.
std::vector<Traffic> traffic_of(const trace::Trace& trace) {
  std::vector<Traffic> traffic(trace.records.size());
  std::unordered_map<TensorId, std::int64_t> bytes;
  for (std::size_t r = 0; r < trace.records.size(); ++r) {
    if (const auto* alloc = std::get_if<trace::Alloc>(&trace.records[r])) bytes[alloc->tensor] = alloc->bytes;
    const auto* kernel = std::get_if<trace::Kernel>(&trace.records[r]);
    if (kernel == nullptr) continue;
    for (std::uint32_t i = kernel->accesses.first; i < kernel->accesses.first + kernel->accesses.count; ++i) {
      const trace::Access& a = trace.accesses[i];
      const std::int64_t length = a.length >= 0 ? a.length : bytes.at(a.tensor) - a.offset;
      traffic[r].touched += static_cast<double>(length) * a.passes * (a.mode == trace::Mode::ReadWrite ? 2 : 1);
      if (a.mode != trace::Mode::Read) traffic[r].written = std::max(traffic[r].written, length);
    }
  }
  return traffic;
}

// By the roofline: the time of `share` of the arithmetic and `after` bytes against that of all of it and `before`.
double slowness(const trace::Kernel& kernel, const std::vector<trace::DeviceInfo>& devices, double before, double after,
                double share) {
  const auto device = static_cast<std::size_t>(std::int32_t{kernel.device});
  if (device >= devices.size() || devices[device].fp32_flops <= 0 || devices[device].bandwidth <= 0) return share;
  const double arithmetic = kernel.flops / devices[device].fp32_flops;
  const double was = std::max(arithmetic, before / devices[device].bandwidth);
  return was <= 0 ? share : std::max(arithmetic * share, after / devices[device].bandwidth) / was;
}

std::int64_t shortest_kernel(const trace::Trace& trace) {
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  for (const trace::Record& record : trace.records)
    if (const auto* kernel = std::get_if<trace::Kernel>(&record)) shortest = std::min(shortest, kernel->duration_ns);
  return shortest;
}

// The launch of a part of the batch.
trace::Kernel part_of(const trace::Kernel& whole, int passes) {
  trace::Kernel part = whole;
  part.flops /= passes;
  if (part.grid > 0) part.grid = std::max<std::int64_t>(1, part.grid / passes);
  return part;
}

// Tensors and kernels of a part of the batch.
void shrink(trace::Trace& trace, int passes, const GpuSpec* gpu) {
  const double share = 1.0 / passes;
  const std::vector<Traffic> before = traffic_of(trace);
  const auto of_batch = [](std::string_view kind, std::string_view) {
    return kind == "act" || kind == "grad" || kind == "input";
  };
  if (scale_tensors(trace, of_batch, share) == 0)
    throw UserError(trace.header.name,
                    "there is no batch to split: no tensor is an input, an activation or its gradient");
  const std::vector<Traffic> after = traffic_of(trace);
  const std::int64_t shortest = shortest_kernel(trace);
  for (std::size_t first = next_iteration(trace, 0); first < trace.records.size();) {
    const std::size_t outer = next_iteration(trace, first + 1);
    const std::size_t optimizer = optimizer_of(trace, first, outer);
    for (std::size_t r = first; r < optimizer; ++r) {
      auto* kernel = std::get_if<trace::Kernel>(&trace.records[r]);
      if (kernel == nullptr) continue;
      const trace::Kernel part = part_of(*kernel, passes);
      const std::string& name = trace.strings[static_cast<std::size_t>(kernel->name)];
      const std::int64_t waves = gpu == nullptr ? 0 : waves_of(*kernel, name, before[r].written, *gpu);
      const double arithmetic =
          waves == 0 ? share
                     : static_cast<double>(waves_of(part, name, after[r].written, *gpu)) / static_cast<double>(waves);
      scale(trace, r, slowness(*kernel, trace.header.devices, before[r].touched, after[r].touched, arithmetic));
      kernel->duration_ns = std::max(kernel->duration_ns, shortest);
      kernel->flops = part.flops;
      kernel->grid = part.grid;
    }
    first = outer;
  }
}

// Each iteration this many times, in iterations of their own; what all but the last one make has ids of its own.
class Repeater {
 public:
  Repeater(const trace::Trace& trace, int passes) : in_(trace), passes_(passes), out_(without_records(trace)) {
    for (const trace::Record& record : trace.records)
      if (const auto* alloc = std::get_if<trace::Alloc>(&record)) {
        fresh_ = std::max(fresh_, alloc->tensor + 1);
        if (is_gradient(*alloc)) gradients_.insert(alloc->tensor);
      }
  }

  trace::Trace run() {
    std::size_t first = next_iteration(in_, 0);
    for (std::size_t r = 0; r < first; ++r) {
      refuse(in_.records[r]);
      note(in_.records[r], held_gradients_);
      out_.records.push_back(in_.records[r]);
    }
    while (first < in_.records.size()) {
      const std::size_t outer = next_iteration(in_, first + 1);
      check(first, outer);
      left_gradients_.clear();
      for (std::size_t r = first; r < outer; ++r) note(in_.records[r], left_gradients_);
      for (int pass = 0; pass < passes_; ++pass) copy(first, outer, pass);
      for (std::size_t r = first; r < outer; ++r) note(in_.records[r], held_gradients_);
      first = outer;
    }
    return std::move(out_);
  }

 private:
  void refuse(const trace::Record& record) const {
    if (std::holds_alternative<trace::SegmentAlloc>(record))
      throw UserError(in_.header.name, "sub-batches would place tensors otherwise than the recorded segments say");
  }

  bool outlives(TensorId tensor) const { return held_gradients_.contains(tensor) || left_gradients_.contains(tensor); }
  bool zeroes_gradients(const trace::Record& record) const {
    const auto* kernel = std::get_if<trace::Kernel>(&record);
    return kernel != nullptr && kernel->accesses.count > 0 &&
           std::ranges::all_of(std::span(in_.accesses).subspan(kernel->accesses.first, kernel->accesses.count),
                               [&](const trace::Access& a) {
                                 return a.mode == trace::Mode::Write && held_gradients_.contains(a.tensor);
                               });
  }

  // Whether the collective is over weight gradients: made once, of their sums.
  bool reduces_gradients(const trace::CollectiveOp& collective) const {
    const auto operands = std::span(in_.accesses).subspan(collective.accesses.first, collective.accesses.count);
    const auto gradients =
        std::ranges::count_if(operands, [&](const trace::Access& a) { return gradients_.contains(a.tensor); });
    if (operands.empty() || (gradients > 0 && gradients < std::ssize(operands)))
      throw UserError(in_.header.name,
                      operands.empty() ? "sub-batches: what a collective works on is not known"
                                       : "sub-batches: a collective works on weight gradients and on other tensors");
    return gradients > 0;
  }

  bool is_gradient(const trace::Alloc& alloc) const {
    return alloc.kind < in_.header.kinds.size() && in_.header.kinds[alloc.kind] == "wgrad";
  }
  void note(const trace::Record& record, std::unordered_set<TensorId>& gradients) const {
    if (const auto* alloc = std::get_if<trace::Alloc>(&record); alloc != nullptr && is_gradient(*alloc))
      gradients.insert(alloc->tensor);
    if (const auto* free = std::get_if<trace::Free>(&record)) gradients.erase(free->tensor);
  }

  // That parts of the iteration's batch can follow each other.
  void check(std::size_t first, std::size_t outer) const {
    std::unordered_set<TensorId> used;
    for (std::size_t r = first; r < outer; ++r) {
      const trace::Record& record = in_.records[r];
      refuse(record);
      if (const trace::AccessSpan* span = trace::access_span(record))
        for (std::uint32_t i = span->first; i < span->first + span->count; ++i) used.insert(in_.accesses[i].tensor);
    }
    std::unordered_set<TensorId> made;
    for (std::size_t r = first; r < outer; ++r) {
      if (const auto* alloc = std::get_if<trace::Alloc>(&in_.records[r])) made.insert(alloc->tensor);
      const auto* free = std::get_if<trace::Free>(&in_.records[r]);
      if (free != nullptr && !made.contains(free->tensor) && used.contains(free->tensor))
        throw UserError(in_.header.name,
                        "an iteration uses and frees tensors of the one before: its sub-batches cannot");
    }
  }

  void copy(std::size_t first, std::size_t outer, int pass) {
    const bool last = pass + 1 == passes_;
    std::unordered_map<TensorId, TensorId> own;  // that this pass makes
    std::set<TensorId> alive;
    for (std::size_t r = first; r < outer; ++r) {
      trace::Record record = in_.records[r];
      const auto* collective = std::get_if<trace::CollectiveOp>(&record);
      if (collective != nullptr && reduces_gradients(*collective) && !last) continue;
      if (pass > 0 && zeroes_gradients(record)) continue;
      if (auto* alloc = std::get_if<trace::Alloc>(&record)) {
        if (left_gradients_.contains(alloc->tensor)) {
          if (pass == 0) out_.records.push_back(record);
          continue;
        }
        own[alloc->tensor] = last ? alloc->tensor : fresh_++;
        alloc->tensor = own[alloc->tensor];
        alive.insert(alloc->tensor);
      }
      if (auto* free = std::get_if<trace::Free>(&record)) {
        const auto mine = own.find(free->tensor);
        if (mine == own.end() && pass > 0) continue;  // of an iteration before: the first pass freed it
        if (mine != own.end()) free->tensor = mine->second;
        alive.erase(free->tensor);
      }
      rename(record, own, pass);
      out_.records.push_back(record);
    }
    for (const TensorId tensor : alive)
      if (!last) out_.records.emplace_back(trace::Free{tensor});
  }

  void rename(trace::Record& record, const std::unordered_map<TensorId, TensorId>& own, int pass) {
    const auto mine = [&](TensorId& tensor) {
      if (const auto found = own.find(tensor); found != own.end()) tensor = found->second;
    };
    if (auto* call = std::get_if<trace::Prefetch>(&record)) mine(call->tensor);
    if (auto* call = std::get_if<trace::Discard>(&record)) mine(call->tensor);
    if (auto* call = std::get_if<trace::Advise>(&record)) mine(call->tensor);
    trace::AccessSpan* span = trace::access_span(record);
    if (span == nullptr) return;
    const auto first = static_cast<std::uint32_t>(out_.accesses.size());
    for (std::uint32_t i = span->first; i < span->first + span->count; ++i) {
      trace::Access access = in_.accesses[i];
      if (pass > 0 && access.mode == trace::Mode::Write && outlives(access.tensor))
        access.mode = trace::Mode::ReadWrite;
      mine(access.tensor);
      out_.accesses.push_back(access);
    }
    span->first = first;
  }

  const trace::Trace& in_;
  const int passes_;
  trace::Trace out_;
  TensorId fresh_ = 0;
  std::unordered_set<TensorId> held_gradients_;  // live from before the iteration
  std::unordered_set<TensorId> left_gradients_;  // made by the iteration, and live after it
  std::unordered_set<TensorId> gradients_;       // of weights, all of the trace
};

// Every `passes` iterations of `trace` become one, with the optimizer of the last.
trace::Trace merge(trace::Trace trace, int passes) {
  std::vector<trace::Record> records(trace.records.begin(),
                                     trace.records.begin() + static_cast<std::ptrdiff_t>(next_iteration(trace, 0)));
  int nth = 0;
  for (std::size_t first = records.size(); first < trace.records.size(); ++nth) {
    const std::size_t outer = next_iteration(trace, first + 1);
    const bool steps = nth % passes == passes - 1;
    const std::size_t optimizer = steps ? outer : optimizer_of(trace, first, outer);
    for (std::size_t r = first + (nth % passes == 0 ? 0 : 1); r < optimizer; ++r)
      records.push_back(trace.records[r]);
    std::unordered_set<TensorId> of_step;
    for (std::size_t r = optimizer; r < outer; ++r) {
      if (const auto* alloc = std::get_if<trace::Alloc>(&trace.records[r])) of_step.insert(alloc->tensor);
      const auto* free = std::get_if<trace::Free>(&trace.records[r]);
      if (free != nullptr && !of_step.contains(free->tensor)) records.push_back(trace.records[r]);
    }
    first = outer;
  }
  trace.records = std::move(records);
  return trace;
}

}  // namespace

trace::Trace split_batch(trace::Trace trace, int passes, const GpuSpec* gpu) {
  if (passes == 1) return trace;
  if (!has_iterations(trace)) throw UserError(trace.header.name, "there is no batch to split: no iteration is marked");
  shrink(trace, passes, gpu);
  trace = merge(accumulate_gradients(Repeater(trace, passes).run(), passes), passes);
  note_transform(trace, "batches in " + std::to_string(passes) + " parts" +
                            (gpu == nullptr ? "" : ", arithmetic by waves of CTAs on " + gpu->name));
  return trace;
}

}  // namespace uvmsim
