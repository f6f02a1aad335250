#include "plan/rewrite.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "base/user_error.h"
#include "plan/kernel_order.h"
#include "trace/visitor.h"
#include "trace/without_records.h"
#include "workload/split_batch.h"

namespace uvmsim {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

// One iteration: kernels, and what they cannot pass, in slots. What is in slot s before and after the order changes
// differs for kernels only.
class Reorder {
 public:
  // `no_layer`: the index of "".
  Reorder(const trace::Trace& trace, const IterationRecords& iteration, std::span<const std::int32_t> order,
          trace::StringIndex no_layer)
      : trace_(trace), iteration_(iteration), order_(order), layer_(no_layer), last_layer_(no_layer) {}

  void append_to(std::vector<trace::Record>& out) {
    find_nodes();
    find_places();
    find_lives();
    for (std::size_t r = iteration_.begin; r < iteration_.outer; ++r)
      if (std::holds_alternative<trace::Iteration>(trace_.records[r])) out.push_back(trace_.records[r]);
    for (std::size_t slot = 0; slot < nodes_.size(); ++slot) emit(slot, out);
    emit_records(tail_, out);
    emit_records(allocated_[nodes_.size()], out);
    emit_records(freed_[nodes_.size()], out);
    if (phase_ != last_phase_) out.emplace_back(trace::Phase{last_phase_});
    if (layer_ != last_layer_) out.emplace_back(trace::Layer{last_layer_});
  }

 private:
  struct Node {
    std::size_t record = 0;
    bool kernel = false;
    trace::StringIndex phase = -1, layer = -1;
    std::vector<std::size_t> before{}, after{};  // records that go with it
  };
  // A tensor in the iteration, by records; and the slots of its uses.
  struct Life {
    std::size_t allocated = kNone, freed = kNone;
    std::size_t allocated_at = 0, freed_at = 0;  // slots, as recorded
    std::size_t first = kNone, last = 0;
  };

  static bool holds_place(const trace::Record& r) {
    return std::holds_alternative<trace::Kernel>(r) || std::holds_alternative<trace::Copy>(r) ||
           std::holds_alternative<trace::CollectiveOp>(r) || std::holds_alternative<trace::Synchronize>(r);
  }

  void find_nodes() {
    std::vector<std::size_t> waiting;
    for (std::size_t r = iteration_.begin; r < iteration_.outer; ++r) {
      const trace::Record& record = trace_.records[r];
      if (const auto* phase = std::get_if<trace::Phase>(&record)) last_phase_ = phase->name;
      if (const auto* layer = std::get_if<trace::Layer>(&record)) last_layer_ = layer->name;
      if (holds_place(record)) {
        nodes_.push_back(
            {r, std::holds_alternative<trace::Kernel>(record), last_phase_, last_layer_, std::exchange(waiting, {})});
      } else if (std::holds_alternative<trace::EventRecord>(record) && !nodes_.empty()) {
        nodes_.back().after.push_back(r);
      } else if (!moves_by_itself(record)) {
        waiting.push_back(r);
      }
    }
    tail_ = std::move(waiting);
  }
  static bool moves_by_itself(const trace::Record& r) {
    return std::holds_alternative<trace::Phase>(r) || std::holds_alternative<trace::Layer>(r) ||
           std::holds_alternative<trace::Iteration>(r) || std::holds_alternative<trace::Alloc>(r) ||
           std::holds_alternative<trace::Free>(r);
  }

  // Which node comes into each slot.
  void find_places() {
    std::vector<std::size_t> kernels;
    for (std::size_t n = 0; n < nodes_.size(); ++n)
      if (nodes_[n].kernel) kernels.push_back(n);
    std::size_t next = 0;
    for (std::size_t n = 0; n < nodes_.size(); ++n)
      node_in_.push_back(nodes_[n].kernel ? kernels[static_cast<std::size_t>(order_[next++])] : n);
    slot_of_.resize(nodes_.size());
    for (std::size_t slot = 0; slot < node_in_.size(); ++slot) slot_of_[node_in_[slot]] = slot;
  }

  void find_lives() {
    allocated_.resize(nodes_.size() + 1);
    freed_.resize(nodes_.size() + 1);
    std::vector<Life> lives;
    std::unordered_map<trace::TensorId, std::size_t> index;  // of live tensors; looked up, never walked
    const auto life_of = [&](trace::TensorId tensor) -> Life& {
      const auto [at, is_new] = index.try_emplace(tensor, lives.size());
      if (is_new) lives.emplace_back();
      return lives[at->second];
    };
    std::size_t node = 0;  // that comes next
    for (std::size_t r = iteration_.begin; r < iteration_.outer; ++r) {
      const trace::Record& record = trace_.records[r];
      if (const auto* alloc = std::get_if<trace::Alloc>(&record)) {
        index.erase(alloc->tensor);
        Life& life = life_of(alloc->tensor);
        life.allocated = r;
        life.allocated_at = node;
      }
      if (const auto* free = std::get_if<trace::Free>(&record)) {
        Life& life = life_of(free->tensor);
        life.freed = r;
        life.freed_at = node;
        index.erase(free->tensor);
      }
      const std::size_t slot = node < nodes_.size() ? slot_of_[node] : nodes_.size();
      for (const trace::TensorId tensor : tensors_of(record)) {
        Life& life = life_of(tensor);
        life.first = std::min(life.first, slot);
        life.last = std::max(life.last, slot);
      }
      node += node < nodes_.size() && nodes_[node].record == r;
    }
    for (const Life& life : lives) place(life);
  }

  // Unused tensors stay in their slots.
  void place(const Life& life) {
    const bool used = life.first != kNone;
    if (life.allocated != kNone) allocated_[used ? life.first : life.allocated_at].push_back(life.allocated);
    if (life.freed == kNone) return;
    if (used)
      freed_[life.last].push_back(life.freed);
    else
      allocated_[life.freed_at].push_back(life.freed);
  }

  std::vector<trace::TensorId> tensors_of(const trace::Record& record) const {
    std::vector<trace::TensorId> tensors;
    if (const auto* call = std::get_if<trace::Prefetch>(&record)) tensors.push_back(call->tensor);
    if (const auto* call = std::get_if<trace::Discard>(&record)) tensors.push_back(call->tensor);
    if (const auto* call = std::get_if<trace::Advise>(&record)) tensors.push_back(call->tensor);
    if (const trace::AccessSpan* span = trace::access_span(record))
      for (std::uint32_t i = span->first; i < span->first + span->count; ++i)
        tensors.push_back(trace_.accesses[i].tensor);
    return tensors;
  }

  void emit_records(std::vector<std::size_t>& records, std::vector<trace::Record>& out) const {
    std::ranges::sort(records);
    for (const std::size_t r : records) out.push_back(trace_.records[r]);
  }

  void emit(std::size_t slot, std::vector<trace::Record>& out) {
    Node& node = nodes_[node_in_[slot]];
    if (phase_ != node.phase && node.phase >= 0) out.emplace_back(trace::Phase{phase_ = node.phase});
    if (layer_ != node.layer) out.emplace_back(trace::Layer{layer_ = node.layer});
    emit_records(allocated_[slot], out);
    emit_records(node.before, out);
    out.push_back(trace_.records[node.record]);
    emit_records(node.after, out);
    emit_records(freed_[slot], out);
  }

  const trace::Trace& trace_;
  const IterationRecords& iteration_;
  const std::span<const std::int32_t> order_;
  std::vector<Node> nodes_;                                  // as recorded
  std::vector<std::size_t> node_in_, slot_of_;               // by slot, by node
  std::vector<std::vector<std::size_t>> allocated_, freed_;  // records of each slot; the last: after all nodes
  std::vector<std::size_t> tail_;
  trace::StringIndex phase_ = -1, layer_;            // that were said last
  trace::StringIndex last_phase_ = -1, last_layer_;  // of the records read so far
};

[[noreturn]] void refuse(const std::string& place, std::string why) {
  throw UserError("the plan cannot be executed", {{place, std::move(why)}});
}

}  // namespace

trace::Trace with_order(const trace::Trace& trace, const IterationShape& shape, std::span<const std::int32_t> order,
                        const std::string& place) {
  if (trace.header.devices.size() > 1) refuse(place, "only programs of one device can be ordered anew");
  const DeviceOrdinal device{};
  trace::Trace out = without_records(trace);
  const auto no_layer = static_cast<trace::StringIndex>(std::ranges::find(out.strings, "") - out.strings.begin());
  if (static_cast<std::size_t>(no_layer) == out.strings.size()) out.strings.emplace_back();
  std::size_t done = 0;
  const auto copy_until = [&](std::size_t outer) {
    out.records.insert(out.records.end(), trace.records.begin() + static_cast<std::ptrdiff_t>(done),
                       trace.records.begin() + static_cast<std::ptrdiff_t>(outer));
    done = outer;
  };
  for (const IterationRecords& iteration : iterations_of(trace, device)) {
    copy_until(iteration.begin);
    if (iteration.shape != shape) continue;
    const std::string fault = KernelOrder(IterationGraph(trace, device, iteration)).fault_of(order);
    if (!fault.empty()) refuse(place, fault);
    Reorder(trace, iteration, order, no_layer).append_to(out.records);
    done = iteration.outer;
  }
  copy_until(trace.records.size());
  return out;
}

trace::Trace rewritten(trace::Trace trace, std::span<const Plan> plans, const GpuSpec* gpu) {
  if (plans.empty()) return trace;
  const auto place = [](const Plan& plan, const char* key) { return "gpu " + std::to_string(plan.gpu.value) + key; };
  for (const Plan& plan : plans)
    if (plan.sub_batches != plans[0].sub_batches)
      refuse(place(plan, " /sub_batches"),
             "expected " + std::to_string(plans[0].sub_batches) + " as in the other plans");
  trace = split_batch(std::move(trace), plans[0].sub_batches, gpu);
  std::vector<const Plan*> ordered;
  for (const Plan& plan : plans) {
    const auto same = [&](const Plan* p) { return p->iteration == plan.iteration; };
    const auto known = std::ranges::find_if(ordered, same);
    if (known == ordered.end())
      ordered.push_back(&plan);
    else if ((*known)->order != plan.order)
      refuse(place(plan, " /order"), "expected the order of the other plans of such iterations");
  }
  for (const Plan* plan : ordered)
    if (!plan->order.empty()) trace = with_order(trace, plan->iteration, plan->order, place(*plan, " /order"));
  return trace;
}

}  // namespace uvmsim
