#include "plan/iteration_graph.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "trace/pattern.h"
#include "workload/iterations.h"

namespace uvmsim {
namespace {

using trace::TensorId;

// The live allocations of a device in the order in which they were made: since for_each, an allocation's place is its
// ordinal.
class LiveTensors {
 public:
  void add(TensorId tensor, std::size_t record) {
    place_[tensor] = live_.size();
    live_.push_back({tensor, record});
  }
  // Its place; nullopt: it is none of the device's.
  std::optional<std::size_t> remove(TensorId tensor) {
    const auto found = place_.find(tensor);
    if (found == place_.end()) return std::nullopt;
    const std::size_t place = found->second;
    live_[place].record = kNoRecord;
    place_.erase(found);
    return place;
  }
  // Calls `visit(tensor, record)` for each.
  template <class Visit>
  void for_each(Visit&& visit) {
    std::erase_if(live_, [](const Live& l) { return l.record == kNoRecord; });
    for (std::size_t i = 0; i < live_.size(); ++i) {
      place_[live_[i].tensor] = i;
      visit(live_[i].tensor, live_[i].record);
    }
  }

 private:
  struct Live {
    TensorId tensor = 0;
    std::size_t record = 0;  // kNoRecord: freed since
  };
  std::vector<Live> live_;
  std::unordered_map<TensorId, std::size_t> place_;  // looked up, never walked
};

// Walks the records of one iteration and fills its graph.
class Builder {
 public:
  Builder(const trace::Trace& trace, DeviceOrdinal device, const IterationRecords& iteration, IterationGraph& graph)
      : trace_(trace), device_(device), iteration_(iteration), graph_(graph) {}

  void run() {
    for (std::int32_t t = 0; t < iteration_.shape.held; ++t)
      add(std::get<trace::Alloc>(trace_.records[iteration_.made[static_cast<std::size_t>(t)]]), -1);
    window_ = live_;
    for (record_ = iteration_.begin; record_ < iteration_.outer; ++record_)
      std::visit([this](const auto& record) { take(record); }, trace_.records[record_]);
    finish();
  }

 private:
  std::int32_t kernels() const { return static_cast<std::int32_t>(graph_.kernels.size()); }
  GraphTensor& tensor(std::int32_t t) { return graph_.tensors[static_cast<std::size_t>(t)]; }
  template <class T>
  void step(GraphStep::Kind kind, const std::vector<T>& list) {
    graph_.steps.push_back({kind, static_cast<std::int32_t>(list.size()) - 1});
  }

  void add(const trace::Alloc& a, std::int32_t layer) {
    index_[a.tensor] = static_cast<std::int32_t>(graph_.tensors.size());
    const std::int64_t bytes = held_bytes(a.bytes);
    graph_.tensors.push_back(
        {.bytes = bytes, .asked = a.bytes, .kind = a.kind, .zeros = a.zeros, .layer = layer, .first = kernels()});
    live_ += bytes;
    window_ = std::max(window_, live_);
  }

  void take(const trace::Alloc& a) {
    if (!counts_in_plans(a, device_)) return;
    add(a, layer_);
    step(GraphStep::Kind::Allocate, graph_.tensors);
  }

  void take(const trace::Free& f) {
    const auto found = index_.find(f.tensor);
    if (found == index_.end()) return;
    GraphTensor& freed = tensor(found->second);
    freed.freed = true;
    freed.outer = kernels();
    live_ -= freed.bytes;
    graph_.steps.push_back({GraphStep::Kind::Free, found->second});
    index_.erase(found);
  }

  void take(const trace::Kernel& k) {
    if (DeviceOrdinal{k.device} != device_) return launch_elsewhere(nanoseconds(k.gap_ns));
    const std::int32_t ordinal = kernels();
    graph_.kernels.push_back({.name = k.name,
                              .kind = class_of(k.name),
                              .layer = layer_,
                              .phase = static_cast<std::int32_t>(graph_.phases.size()) - 1,
                              .stream = k.stream,
                              .duration = nanoseconds(k.duration_ns),
                              .flops = k.flops,
                              .gap = nanoseconds(k.gap_ns),
                              .variants = k.variants,
                              .allocations = allocations_before(trace_, device_, record_),
                              .uses = uses(k.accesses)});
    step(GraphStep::Kind::Kernel, graph_.kernels);
    graph_.load.push_back(window_);
    window_ = live_;
    for (const TensorUse& use : graph_.uses_of(ordinal)) {
      need(use.tensor, ordinal);
      if (use.writes) tensor(use.tensor).writers.push_back(ordinal);
      if (use.overwrites) tensor(use.tensor).overwriters.push_back(ordinal);
    }
  }

  void launch_elsewhere(Duration gap) {
    graph_.host_steps.push_back({.duration = gap, .before = kernels()});
    step(GraphStep::Kind::Launch, graph_.host_steps);
  }

  void take(const trace::Copy& c) {
    if (DeviceOrdinal{c.device} != device_) return launch_elsewhere({});
    graph_.copies.push_back({c.direction, c.bytes, c.asynchronous, c.stream, kernels(), uses(c.accesses)});
    step(GraphStep::Kind::Copy, graph_.copies);
    need_between(graph_.copies.back().uses);
  }
  void take(const trace::CollectiveOp& c) {
    if (DeviceOrdinal{c.device} != device_) return;
    graph_.collectives.push_back({c.kind, c.communicator, c.bytes, kernels(), uses(c.accesses)});
    step(GraphStep::Kind::Collective, graph_.collectives);
    need_between(graph_.collectives.back().uses);
  }
  void take(const trace::HostStep& h) {
    graph_.host_steps.push_back({h.thread, nanoseconds(h.duration_ns), kernels()});
    step(GraphStep::Kind::Host, graph_.host_steps);
  }
  void take(const trace::Synchronize& s) { graph_.steps.push_back({GraphStep::Kind::Synchronize, s.stream}); }
  void take(const trace::EventRecord& e) {
    graph_.events.push_back({e.event, e.stream});
    step(GraphStep::Kind::Record, graph_.events);
  }
  void take(const trace::EventWait& e) {
    graph_.events.push_back({e.event, e.stream});
    step(GraphStep::Kind::Wait, graph_.events);
  }
  void take(const trace::Phase& p) { graph_.phases.push_back(trace_.strings[static_cast<std::size_t>(p.name)]); }
  void take(const trace::Layer& l) {
    if (kernels() > 0 && (graph_.layer_ends.empty() || graph_.layer_ends.back() != kernels() - 1))
      graph_.layer_ends.push_back(kernels() - 1);
    layer_ = trace_.strings[static_cast<std::size_t>(l.name)].empty() ? -1 : l.name;
  }
  template <class R>
  void take(const R&) {}

  KernelClass class_of(trace::StringIndex name) {
    const auto [at, is_new] = classes_.try_emplace(name);
    if (is_new) at->second = class_of_kernel(trace_.strings[static_cast<std::size_t>(name)]);
    return at->second;
  }

  // One use per tensor, in the order of the first access to it.
  UseSpan uses(trace::AccessSpan span) {
    const auto first = static_cast<std::uint32_t>(graph_.uses.size());
    for (std::uint32_t i = span.first; i < span.first + span.count; ++i) {
      const trace::Access& access = trace_.accesses[i];
      const auto found = index_.find(access.tensor);
      if (found == index_.end()) continue;
      const auto own = std::span(graph_.uses).subspan(first);
      auto use = std::ranges::find(own, found->second, &TensorUse::tensor);
      const bool known = use != own.end();
      if (!known) graph_.uses.push_back({.tensor = found->second, .overwrites = true});
      TensorUse& of = known ? *use : graph_.uses.back();
      const bool writes = access.mode != trace::Mode::Read;
      of.reads |= access.mode != trace::Mode::Write;
      of.writes |= writes;
      of.overwrites &=
          access.mode == trace::Mode::Write && trace::covers_its_range(access, tensor(found->second).asked);
    }
    return {first, static_cast<std::uint32_t>(graph_.uses.size()) - first};
  }

  void need(std::int32_t t, std::int32_t kernel) {
    std::vector<std::int32_t>& needed = tensor(t).uses;
    if (needed.empty() || needed.back() != kernel) needed.push_back(kernel);
  }

  // Between two kernels: the operand is there from the one to the other. The second is known later.
  void need_between(UseSpan span) {
    for (const TensorUse& use : graph_.uses_of(span)) {
      if (kernels() > 0) need(use.tensor, kernels() - 1);
      between_.emplace_back(use.tensor, kernels());
    }
  }

  void finish() {
    const std::int32_t count = kernels();
    graph_.shape = iteration_.shape;
    if (count > 0) {
      graph_.load.back() = std::max(graph_.load.back(), window_);
      if (graph_.layer_ends.empty() || graph_.layer_ends.back() != count - 1) graph_.layer_ends.push_back(count - 1);
    }
    for (GraphTensor& t : graph_.tensors)
      if (!t.freed) t.outer = count;
    for (const auto& [t, kernel] : between_) {
      std::vector<std::int32_t>& needed = tensor(t).uses;
      const auto at = std::ranges::lower_bound(needed, kernel);
      if (kernel < count && (at == needed.end() || *at != kernel)) needed.insert(at, kernel);
    }
  }

  const trace::Trace& trace_;
  const DeviceOrdinal device_;
  const IterationRecords& iteration_;
  IterationGraph& graph_;
  std::unordered_map<TensorId, std::int32_t> index_;  // of live tensors; looked up, never walked; so is the next
  std::unordered_map<trace::StringIndex, KernelClass> classes_;
  std::vector<std::pair<std::int32_t, std::int32_t>> between_;
  std::size_t record_ = 0;
  std::int32_t layer_ = -1;
  std::int64_t live_ = 0, window_ = 0;  // bytes; at most, since the last launch
};

}  // namespace

bool counts_in_plans(const trace::Alloc& alloc, DeviceOrdinal device) {
  const auto space = static_cast<trace::Space>(alloc.space);
  return DeviceOrdinal{alloc.device} == device &&
         (alloc.space < 0 || space == trace::Space::Device || space == trace::Space::Managed);
}

std::int32_t allocations_before(const trace::Trace& trace, DeviceOrdinal device, std::size_t record) {
  std::int32_t count = 0;
  for (; record > 0; --record, ++count) {
    const auto* alloc = std::get_if<trace::Alloc>(&trace.records[record - 1]);
    if (alloc == nullptr || !counts_in_plans(*alloc, device)) break;
  }
  return count;
}

std::set<DeviceOrdinal> devices_of(const trace::Trace& trace) {
  std::set<DeviceOrdinal> devices;
  for (const trace::Record& record : trace.records)
    if (const auto* kernel = std::get_if<trace::Kernel>(&record)) devices.insert(DeviceOrdinal{kernel->device});
  return devices;
}

std::vector<IterationRecords> iterations_of(const trace::Trace& trace, DeviceOrdinal device) {
  std::vector<IterationRecords> iterations;
  LiveTensors live;
  const auto begin = [&](std::size_t record) {
    if (!iterations.empty()) iterations.back().outer = record;
    IterationRecords& now = iterations.emplace_back();
    now.begin = record;
    live.for_each([&](TensorId tensor, std::size_t made) {
      now.tensors.push_back(tensor);
      now.made.push_back(made);
    });
    now.freed.assign(now.tensors.size(), kNoRecord);
    now.shape.held = static_cast<std::int32_t>(now.tensors.size());
  };
  if (!has_iterations(trace)) begin(0);
  for (std::size_t i = 0; i < trace.records.size(); ++i) {
    const trace::Record& record = trace.records[i];
    if (std::holds_alternative<trace::Iteration>(record)) begin(i);
    IterationRecords* const now = iterations.empty() ? nullptr : &iterations.back();
    if (const auto* a = std::get_if<trace::Alloc>(&record); a != nullptr && counts_in_plans(*a, device)) {
      live.add(a->tensor, i);
      if (now == nullptr) continue;
      now->tensors.push_back(a->tensor);
      now->made.push_back(i);
      now->freed.push_back(kNoRecord);
      ++now->shape.made;
    } else if (const auto* f = std::get_if<trace::Free>(&record)) {
      const std::optional<std::size_t> ordinal = live.remove(f->tensor);
      if (ordinal && now != nullptr) now->freed[*ordinal] = i;
    } else if (const auto* k = std::get_if<trace::Kernel>(&record);
               k != nullptr && DeviceOrdinal{k->device} == device && now != nullptr) {
      now->kernels.push_back(i);
      ++now->shape.kernels;
    }
  }
  if (!iterations.empty()) iterations.back().outer = trace.records.size();
  return iterations;
}

IterationGraph::IterationGraph(const trace::Trace& trace, DeviceOrdinal device, const IterationRecords& iteration)
    : workload(trace.header.name),
      strings(trace.strings),
      variants(trace.variants),
      kinds(trace.header.kinds),
      host_op(nanoseconds(trace.header.host_op_ns)) {
  kernels.reserve(iteration.kernels.size());
  tensors.reserve(iteration.tensors.size());
  Builder(trace, device, iteration, *this).run();
}

std::int64_t IterationGraph::peak() const { return load.empty() ? 0 : std::ranges::max(load); }

std::int32_t IterationGraph::first_kernel_of(const std::string& name) const {
  const auto found = std::ranges::find_if(
      kernels, [&](const GraphKernel& k) { return k.phase >= 0 && phases[static_cast<std::size_t>(k.phase)] == name; });
  return found == kernels.end() ? -1 : static_cast<std::int32_t>(found - kernels.begin());
}

bool IterationGraph::overwrites(std::int32_t kernel, std::int32_t tensor) const {
  return std::ranges::binary_search(tensors[static_cast<std::size_t>(tensor)].overwriters, kernel);
}

}  // namespace uvmsim
