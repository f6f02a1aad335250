#include "workload/priority_sync.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/user_error.h"
#include "workload/edit.h"
#include "workload/iterations.h"
#include "workload/unused.h"

namespace uvmsim {
namespace {

using trace::TensorId;

// Tensors that kernels use together, by one of them.
class Groups {
 public:
  TensorId of(TensorId tensor) {
    const auto [at, fresh] = parent_.try_emplace(tensor, tensor);
    if (at->second == tensor) return tensor;
    return parent_[tensor] = of(at->second);
  }
  void join(TensorId a, TensorId b) { parent_[of(a)] = of(b); }

 private:
  std::map<TensorId, TensorId> parent_;
};

class PrioritySynchronizer {
 public:
  PrioritySynchronizer(trace::Trace& trace, const PrioritySync& options)
      : trace_(trace), options_(options), unused_(trace) {}

  // Whether anything was synchronised.
  bool run() {
    leave_out_sums();
    std::size_t first = next_iteration(trace_, 0);
    scan(0, first);
    while (first < trace_.records.size()) {
      const std::size_t outer = next_iteration(trace_, first + 1);
      iteration(first, outer);
      first = outer;
    }
    if (inserted_.empty()) return false;
    insert(trace_, std::move(inserted_));
    leave_out_steps();
    return true;
  }

 private:
  struct Live {
    std::uint8_t kind = 0;
    std::int64_t bytes = 0;
  };
  // What the optimizer updates together.
  struct Group {
    std::vector<TensorId> parameters;
    std::int32_t number = 0;  // in the order in which the iteration uses them first
  };

  std::string_view kind_of(TensorId tensor) const {
    const auto live = live_.find(tensor);
    if (live == live_.end() || live->second.kind >= trace_.header.kinds.size()) return "";
    return trace_.header.kinds[live->second.kind];
  }
  std::span<const trace::Access> accesses(trace::AccessSpan span) const {
    return std::span(trace_.accesses).subspan(span.first, span.count);
  }

  // All-reduces; who waits for them has nothing to wait for.
  void leave_out_sums() {
    std::erase_if(trace_.records, [](const trace::Record& record) {
      const auto* sum = std::get_if<trace::CollectiveOp>(&record);
      return sum != nullptr && sum->kind == trace::Collective::AllReduce;
    });
  }

  // The kernels of the optimizer.
  void leave_out_steps() {
    std::vector<std::size_t> steps;
    for (std::size_t first = next_iteration(trace_, 0); first < trace_.records.size();) {
      const std::size_t outer = next_iteration(trace_, first + 1);
      for (std::size_t i = optimizer_of(trace_, first, outer); i < outer; ++i)
        if (std::holds_alternative<trace::Kernel>(trace_.records[i])) steps.push_back(i);
      first = outer;
    }
    remove(trace_, std::move(steps));
  }

  void scan(std::size_t first, std::size_t outer) {
    for (std::size_t i = first; i < outer; ++i) {
      if (const auto* alloc = std::get_if<trace::Alloc>(&trace_.records[i]))
        live_[alloc->tensor] = {alloc->kind, alloc->bytes};
      if (const auto* free = std::get_if<trace::Free>(&trace_.records[i])) live_.erase(free->tensor);
    }
  }

  void iteration(std::size_t first, std::size_t outer) {
    const std::size_t optimizer = optimizer_of(trace_, first, outer);
    wait_for_parameters(first, optimizer);
    std::map<TensorId, std::size_t> ready;  // gradients, with the record after which they are
    for (std::size_t i = first; i < optimizer; ++i) {
      scan(i, i + 1);
      if (const auto* free = std::get_if<trace::Free>(&trace_.records[i])) ready.erase(free->tensor);
      const auto* kernel = std::get_if<trace::Kernel>(&trace_.records[i]);
      if (kernel == nullptr) continue;
      for (const trace::Access& a : accesses(kernel->accesses))
        if (a.mode != trace::Mode::Read && kind_of(a.tensor) == "wgrad") ready[a.tensor] = i;
    }
    join(optimizer, outer);
    send(ready, groups_of(ready, first, optimizer));
    scan(optimizer, outer);
  }

  // Joins what the kernels of a step use together, but for what lives in the step alone.
  void join(std::size_t first, std::size_t outer) {
    std::set<TensorId> made, temporary;
    for (std::size_t i = first; i < outer; ++i) {
      if (const auto* alloc = std::get_if<trace::Alloc>(&trace_.records[i])) made.insert(alloc->tensor);
      if (const auto* free = std::get_if<trace::Free>(&trace_.records[i]); free && made.contains(free->tensor))
        temporary.insert(free->tensor);
    }
    joined_ = {};
    for (std::size_t i = first; i < outer; ++i) {
      const auto* kernel = std::get_if<trace::Kernel>(&trace_.records[i]);
      if (kernel == nullptr) continue;
      TensorId one = -1;
      for (const trace::Access& a : accesses(kernel->accesses)) {
        if (temporary.contains(a.tensor)) continue;
        if (one >= 0) joined_.join(a.tensor, one);
        one = a.tensor;
      }
    }
  }

  // Those of the gradients, by the tensor that stands for each, with the parameters that the iteration uses.
  std::map<TensorId, Group> groups_of(const std::map<TensorId, std::size_t>& ready, std::size_t first,
                                      std::size_t optimizer) {
    std::set<TensorId> trained;
    for (const auto& [gradient, record] : ready) trained.insert(joined_.of(gradient));
    std::map<TensorId, Group> groups;
    for (std::size_t i = first; i < optimizer; ++i) {
      const auto* kernel = std::get_if<trace::Kernel>(&trace_.records[i]);
      if (kernel == nullptr) continue;
      for (const trace::Access& a : accesses(kernel->accesses)) {
        if (kind_of(a.tensor) != "param" || !trained.contains(joined_.of(a.tensor))) continue;
        const auto [group, fresh] = groups.try_emplace(joined_.of(a.tensor));
        if (fresh) group->second.number = static_cast<std::int32_t>(groups.size()) - 1;
        std::vector<TensorId>& parameters = group->second.parameters;
        if (std::ranges::find(parameters, a.tensor) == parameters.end()) parameters.push_back(a.tensor);
      }
    }
    return groups;
  }

  void send(const std::map<TensorId, std::size_t>& ready, const std::map<TensorId, Group>& groups) {
    std::vector<std::pair<std::size_t, TensorId>> order;
    for (const auto& [gradient, record] : ready) order.emplace_back(record, gradient);
    std::ranges::sort(order);
    std::int32_t place = 0;
    for (const auto& [record, gradient] : order) {
      const auto group = groups.find(joined_.of(gradient));
      if (group == groups.end()) continue;
      send(gradient, record, group->second, options_.prioritised ? group->second.number : place++);
    }
  }

  void send(TensorId gradient, std::size_t ready, const Group& group, std::int32_t priority) {
    const auto& kernel = std::get<trace::Kernel>(trace_.records[ready]);
    const std::int32_t stream = unused_.stream + group.number, computed = unused_.event + 2 * group.number;
    const auto add = [&](const trace::Record& record) { inserted_.emplace_back(ready + 1, record); };
    add(trace::EventRecord{.event = computed, .stream = kernel.stream});
    add(trace::EventWait{.event = computed, .stream = stream});
    const std::int64_t bytes = live_.at(gradient).bytes;
    for (std::int64_t from = 0; from < bytes; from += options_.slice.value) {
      const std::int64_t length = std::min(options_.slice.value, bytes - from);
      const auto operand = static_cast<std::uint32_t>(trace_.accesses.size());
      trace_.accesses.push_back({.tensor = gradient, .mode = trace::Mode::ReadWrite, .offset = from, .length = length});
      add(trace::CollectiveOp{
          .kind = trace::Collective::AllReduce,
          .communicator = unused_.communicator + group.number,
          .stream = stream,
          .bytes = length,
          .accesses = {operand, 1},
          .device = kernel.device,
          .priority = priority,
          .droppable = static_cast<std::int64_t>(static_cast<double>(length) * options_.droppable)});
    }
    add(trace::EventRecord{.event = computed + 1, .stream = stream});
    for (const TensorId parameter : group.parameters) arrives_[parameter] = computed + 1;
  }

  // The first kernel that uses a parameter waits for it, on its stream.
  void wait_for_parameters(std::size_t first, std::size_t optimizer) {
    std::map<std::int32_t, std::int32_t> waited;  // the stream that has, by event
    for (std::size_t i = first; i < optimizer; ++i) {
      const auto* kernel = std::get_if<trace::Kernel>(&trace_.records[i]);
      if (kernel == nullptr) continue;
      for (const trace::Access& a : accesses(kernel->accesses)) {
        const auto arrival = arrives_.find(a.tensor);
        if (arrival == arrives_.end()) continue;
        if (waited.try_emplace(arrival->second, kernel->stream).second)
          inserted_.emplace_back(i, trace::EventWait{.event = arrival->second, .stream = kernel->stream});
      }
    }
    arrives_.clear();
  }

  trace::Trace& trace_;
  const PrioritySync options_;
  const Unused unused_;
  std::map<TensorId, Live> live_;
  Groups joined_;
  std::map<TensorId, std::int32_t> arrives_;  // the event after which a parameter is new
  std::vector<std::pair<std::size_t, trace::Record>> inserted_;
};

}  // namespace

trace::Trace sync_by_priority(trace::Trace trace, const PrioritySync& options, const std::string& name) {
  if (!PrioritySynchronizer(trace, options).run())
    throw UserError(trace.header.name,
                    name + " selects nothing: no iteration has a phase \"optimizer\" that uses weight gradients");
  return trace;
}

}  // namespace uvmsim
