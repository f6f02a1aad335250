#include "plan/lower.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/check.h"
#include "plan/dropped_again.h"

namespace uvmsim {
namespace {

// An operation to put in before operation `at` of the program.
struct Inserted {
  std::size_t at = 0;
  Op op;
};

// What one plan does at one place, in the order in which it is done.
struct Place {
  std::vector<Op> leave, enter;            // of the GPU's memory; addresses are tensor ordinals still
  std::vector<const Recompute*> segments;  // with one, all that is done before a kernel precedes its allocations
  std::vector<std::int32_t> segment_actions;
  bool joins = false;             // a layer ends here
  std::optional<Op> workspace{};  // of the place's kernel: allocated before it, freed after it
};

class Lowering {
 public:
  Lowering(Program program, const trace::Trace& trace) : program_(std::move(program)), trace_(trace) {
    for (const TensorPlacement& t : program_.tensors) {
      addresses_[t.id].push_back(t);
      const VirtualAddress end = t.address + static_cast<VirtualAddress>(t.bytes);
      if (end < kManagedBase) workspace_at_ = std::max(workspace_at_, end);
    }
    workspace_at_ = (workspace_at_ + 511) / 512 * 512;
  }

  void add(DeviceOrdinal device, std::span<const Plan> plans) {
    device_ = device;
    const std::vector<IterationRecords> iterations = iterations_of(trace_, device);
    for (std::size_t i = 0; i < iterations.size(); ++i) {
      const Plan* plan = plan_for(plans, GpuIndex{device.value}, iterations[i].shape, static_cast<std::int32_t>(i));
      if (plan == nullptr || !fits(*plan, iterations[i])) continue;
      iteration_ = &iterations[i];
      number_ = static_cast<std::int32_t>(i);
      lower(*plan);
    }
  }

  Program take() {
    std::ranges::stable_sort(inserted_, {}, &Inserted::at);
    std::vector<Op> ops;
    ops.reserve(program_.ops.size() + inserted_.size());
    std::vector<std::uint32_t> moved(program_.ops.size());  // where operations went
    auto next = inserted_.begin();
    for (std::size_t i = 0; i <= program_.ops.size(); ++i) {
      for (; next != inserted_.end() && next->at == i; ++next) ops.push_back(std::move(next->op));
      if (i == program_.ops.size()) break;
      moved[i] = static_cast<std::uint32_t>(ops.size());
      if (!left_out_.contains(i)) ops.push_back(std::move(program_.ops[i]));
    }
    for (Op& op : ops)
      if (auto* again = std::get_if<op::Relaunch>(&op)) again->kernel = moved[again->kernel];
    for (TensorEvent& event : program_.tensor_events) event.before_op = moved[event.before_op];
    program_.ops = std::move(ops);
    program_.record_ops.clear();
    program_.tensors.clear();
    program_.operand_tensors.clear();
    return std::move(program_);
  }

 private:
  void lower(const Plan& plan) {
    ordinals_.clear();
    for (std::size_t t = 0; t < iteration_->tensors.size(); ++t) ordinals_[iteration_->tensors[t]].push_back(t);
    insert(op_of(iteration_->begin) + (starts_with_mark() ? 1 : 0), op::UnderPlan{device_, rules(plan)});
    std::map<std::size_t, Place> places;
    bool layers = false;
    for (std::size_t a = 0; a < plan.actions.size(); ++a) {
      action_ = -1;
      std::visit([&](const auto& action) { this->action(action, static_cast<std::int32_t>(a), places); },
                 plan.actions[a]);
      const auto* move = std::get_if<Move>(&plan.actions[a]);
      layers |= move != nullptr && (move->out.sync == Sync::Layer || move->in.sync == Sync::Layer);
    }
    leave_out_tensors_on_host(plan);
    workspaces_.clear();
    for (const KernelVariant& v : plan.variants) run_as(v, places);
    for (const std::int32_t k : plan.layer_ends)
      if (layers) places[2 * static_cast<std::size_t>(k) + 1].joins = true;
    for (const auto& [place, what] : places) insert(place, what);
  }

  // Whether the plan's tensors have its sizes in `iteration`. Iterations of one shape may hold others: where what one
  // iteration leaves to the next was made before the optimizer's state in the first and after it since.
  bool fits(const Plan& plan, const IterationRecords& iteration) const {
    return std::ranges::all_of(plan.actions, [&](const Action& action) {
      return std::ranges::all_of(intervals_of(action), [&](const TensorInterval& i) {
        const std::size_t made = iteration.made[static_cast<std::size_t>(i.tensor)];
        return held_bytes(std::get<trace::Alloc>(trace_.records[made]).bytes) == i.bytes;
      });
    });
  }

  // The kernel takes the variant's time, and its workspace is one more tensor that it writes.
  void run_as(const KernelVariant& v, std::map<std::size_t, Place>& places) {
    const std::size_t before = 2 * static_cast<std::size_t>(v.kernel);
    auto& kernel = std::get<op::Kernel>(program_.ops[op_at(before)]);
    const std::size_t record = iteration_->kernels[static_cast<std::size_t>(v.kernel)];
    const auto list = static_cast<std::size_t>(std::get<trace::Kernel>(trace_.records[record]).variants);
    const trace::LaunchVariant& variant = trace_.variants[list][static_cast<std::size_t>(v.variant)];
    kernel.duration = nanoseconds(variant.duration_ns);
    if (variant.workspace == 0) return;
    std::vector<Operand>& operands = program_.operands;
    const auto first = static_cast<std::uint32_t>(operands.size());
    for (std::uint32_t o = 0; o < kernel.operands.count; ++o)
      operands.push_back(Operand(operands[kernel.operands.first + o]));
    operands.push_back({.address = workspace_at_, .bytes = variant.workspace, .mode = trace::Mode::Write});
    kernel.operands = {first, kernel.operands.count + 1};
    workspaces_[v.kernel] = {workspace_at_, variant.workspace, device_, true};
    places[before].workspace = workspaces_[v.kernel];
    places[before + 1].workspace = op::FreeDevice{workspace_at_, device_};
  }

  // What the CPU's kernels alone use is never on the GPU.
  void leave_out_tensors_on_host(const Plan& plan) {
    const std::set<std::int32_t> on_host = kernels_on_host(plan);
    if (on_host.empty()) return;
    for (const std::int32_t t : tensors_on_host(IterationGraph(trace_, device_, *iteration_), on_host)) {
      left_out_.insert(op_of(iteration_->made[static_cast<std::size_t>(t)]));
      left_out_.insert(op_of(iteration_->freed[static_cast<std::size_t>(t)]));
    }
  }

  // --- actions, sorted into places

  void action(const Move& m, std::int32_t number, std::map<std::size_t, Place>& places) {
    const std::int32_t id = numbered(number);
    if (!m.codec.empty()) name_codec_kernels();
    const op::SwapOut out{.device = device_,
                          .tensor = tensor(m.of),
                          .sync = m.out.sync,
                          .on_demand = m.release == Move::Release::Reclaim,
                          .in_use = false,
                          .keep = m.keep,
                          .node = named(m.to),
                          .codec = named(m.codec),
                          .sparsity = m.sparsity,
                          .ratio = m.ratio,
                          .action = id};
    if (copies_during_last_use(m)) {
      op::SwapOut copy = out;
      copy.in_use = true;
      places[place_of(m.out.at)].leave.push_back(copy);
      places[place_of(m.out.at) + 1].leave.push_back(out);
    } else {
      places[place_of(m.out.at)].leave.push_back(out);
    }
    if (m.in.at.on != Trigger::On::Access)
      places[place_of(m.in.at)].enter.push_back(op::SwapIn{.device = device_,
                                                           .tensor = tensor(m.of),
                                                           .sync = m.in.sync,
                                                           .kernels_until_use = kernels_until(m),
                                                           .action = id});
  }
  void action(const Drop& d, std::int32_t number, std::map<std::size_t, Place>& places) {
    places[place_of(d.at)].leave.push_back(op::Drop{device_, tensor(d.of), numbered(number)});
  }
  void action(const Encode& e, std::int32_t number, std::map<std::size_t, Place>& places) {
    const std::int32_t id = numbered(number);
    name_codec_kernels();
    places[place_of(e.out)].leave.push_back(op::Encode{device_, tensor(e.of), named(e.codec), e.sparsity, e.ratio, id});
    if (e.in.on != Trigger::On::Access) places[place_of(e.in)].enter.push_back(op::Decode{device_, tensor(e.of), id});
  }
  void action(const Recompute& r, std::int32_t number, std::map<std::size_t, Place>& places) {
    const std::int32_t id = numbered(number);
    for (const TensorInterval& t : r.tensors)
      places[2 * static_cast<std::size_t>(t.last_use) + 1].leave.push_back(op::Drop{device_, tensor(t), id});
    Place& before = places[2 * static_cast<std::size_t>(r.before)];
    before.segments.push_back(&r);
    before.segment_actions.push_back(id);
    Place& after = places[2 * static_cast<std::size_t>(r.before) + 1];
    for (const std::int32_t t : dropped_again(r))
      if (!leaves_after(r, t)) after.leave.push_back(op::Drop{device_, static_cast<VirtualAddress>(t), id});
  }
  void action(const HostCompute& h, std::int32_t number, std::map<std::size_t, Place>& places) {
    op::HostCompute compute{.device = device_,
                            .first = static_cast<std::uint32_t>(program_.host_kernels.size()),
                            .count = static_cast<std::uint32_t>(h.kernels.size()),
                            .cores = h.cores,
                            .action = numbered(number)};
    for (const std::int32_t k : h.kernels) {
      const std::size_t op = op_at(2 * static_cast<std::size_t>(k));
      program_.host_kernels.push_back(std::get<op::Kernel>(program_.ops[op]));
      left_out_.insert(op);
    }
    places[place_of(h.at)].leave.push_back(compute);
  }

  // What a codec launches is named so.
  void name_codec_kernels() {
    for (const char* kernel : {"encode", "decode"})
      if (std::ranges::find(program_.strings, kernel) == program_.strings.end()) program_.strings.emplace_back(kernel);
  }

  std::optional<std::size_t> leaves_after(const Recompute& segment, std::int32_t tensor) const {
    return uvmsim::leaves_after(segment, tensor, [this](std::int32_t k, std::int32_t t) { return uses(k, t); });
  }
  bool uses(std::int32_t kernel, std::int32_t tensor) const {
    const auto ordinal = static_cast<std::size_t>(tensor);
    const std::size_t record = iteration_->kernels[static_cast<std::size_t>(kernel)];
    if (iteration_->made[ordinal] >= record || iteration_->freed[ordinal] < record) return false;
    const trace::AccessSpan span = std::get<trace::Kernel>(trace_.records[record]).accesses;
    const auto accesses = std::span(trace_.accesses).subspan(span.first, span.count);
    return std::ranges::find(accesses, iteration_->tensors[ordinal], &trace::Access::tensor) != accesses.end();
  }

  // From where the copy in is issued to the kernel that uses the tensor.
  std::int32_t kernels_until(const Move& m) const {
    const std::int32_t next = m.in.at.kernel + (m.in.at.on == Trigger::On::AfterKernel ? 1 : 0);
    const bool same = next <= m.of.next_use;
    return m.of.next_use - next + (same ? 0 : iteration_->shape.kernels);
  }

  // --- places, turned into operations

  void insert(std::size_t place, const Place& what) {
    const std::size_t at = what.segments.empty() ? op_at(place) : before_allocations(place / 2);
    for (const Op& op : what.leave) insert_on_tensor(at, op);
    for (const Op& op : what.enter) insert_on_tensor(at, op);
    for (std::size_t s = 0; s < what.segments.size(); ++s) segment(at, *what.segments[s], what.segment_actions[s]);
    if (what.joins) insert(at, op::JoinLayer{device_});
    if (what.workspace) insert(op_at(place), *what.workspace);
  }

  // What is made again for kernel `kernel` is made before there is memory for its results.
  std::size_t before_allocations(std::size_t kernel) const {
    const std::size_t record = iteration_->kernels[kernel];
    return op_of(record - static_cast<std::size_t>(allocations_before(trace_, device_, record)));
  }

  // Ordinals become addresses; what is done to a tensor that does not live here is left out.
  void insert_on_tensor(std::size_t at, Op op) {
    const bool lives = std::visit(
        [&](auto& o) {
          if constexpr (requires { o.tensor; }) {
            const TensorPlacement* placed = placed_at(static_cast<std::size_t>(o.tensor), at);
            if (placed == nullptr) return false;
            o.tensor = placed->address;
          }
          return true;
        },
        op);
    if (lives) insert(at, std::move(op));
  }

  // The kernels run again. What they use and is freed by now lives from the first to the last of them that does; what
  // is dropped again leaves after the last one, too, if kernel `before` does not use it.
  void segment(std::size_t at, const Recompute& segment, std::int32_t action) {
    std::map<VirtualAddress, std::pair<std::size_t, std::size_t>> borrowed;  // kernels of the segment, by tensor
    std::map<VirtualAddress, std::int64_t> bytes;
    for (std::size_t k = 0; k < segment.kernels.size(); ++k)
      for (const auto& [address, size] : freed_operands(segment.kernels[k], at)) {
        borrowed.try_emplace(address, k, k).first->second.second = k;
        bytes[address] = size;
      }
    std::map<std::size_t, std::vector<std::int32_t>> leave;  // tensors, by kernel of the segment
    for (const std::int32_t t : dropped_again(segment))
      if (const auto after = leaves_after(segment, t)) leave[*after].push_back(t);
    for (std::size_t k = 0; k < segment.kernels.size(); ++k) {
      for (const auto& [address, span] : borrowed)
        if (span.first == k) insert(at, op::MallocDevice{address, bytes[address], device_, true});
      const std::size_t kernel = op_at(2 * static_cast<std::size_t>(segment.kernels[k]));
      const auto workspace = workspaces_.find(segment.kernels[k]);
      if (workspace != workspaces_.end()) insert(at, workspace->second);
      insert(at, op::Relaunch{device_, static_cast<std::uint32_t>(kernel), action});
      if (workspace != workspaces_.end()) insert(at, op::FreeDevice{workspace_at_, device_});
      for (const auto& [address, span] : borrowed)
        if (span.second == k) insert(at, op::FreeDevice{address, device_});
      for (const std::int32_t t : leave[k])
        insert_on_tensor(at, op::Drop{device_, static_cast<VirtualAddress>(t), action});
    }
  }

  // Operands of kernel `kernel` whose tensors are freed before operation `at`: address and bytes of each.
  std::vector<std::pair<VirtualAddress, std::int64_t>> freed_operands(std::int32_t kernel, std::size_t at) const {
    std::vector<std::pair<VirtualAddress, std::int64_t>> freed;
    const std::size_t record = iteration_->kernels[static_cast<std::size_t>(kernel)];
    const trace::AccessSpan span = std::get<trace::Kernel>(trace_.records[record]).accesses;
    for (std::uint32_t a = span.first; a < span.first + span.count; ++a) {
      const auto found = ordinals_.find(trace_.accesses[a].tensor);
      if (found == ordinals_.end()) continue;
      for (const std::size_t t : found->second) {
        if (iteration_->made[t] >= record || iteration_->freed[t] < record) continue;  // another one of this id
        if (iteration_->freed[t] == kNoRecord || op_of(iteration_->freed[t]) >= at) continue;
        const TensorPlacement& placed = placement(t);
        freed.emplace_back(placed.address, placed.bytes);
      }
    }
    return freed;
  }

  // --- from ordinals to the program

  bool starts_with_mark() const { return std::holds_alternative<trace::Iteration>(trace_.records[iteration_->begin]); }
  std::size_t op_of(std::size_t record) const {
    return record < program_.record_ops.size() ? program_.record_ops[record] : program_.ops.size();
  }
  std::size_t op_at(std::size_t place) const { return op_of(iteration_->kernels[place / 2]) + place % 2; }

  const TensorPlacement& placement(std::size_t ordinal) const {
    const auto& all = addresses_.at(iteration_->tensors[ordinal]);
    const std::size_t made = op_of(iteration_->made[ordinal]);
    const auto at = std::ranges::find_if(all, [&](const TensorPlacement& t) {
      const auto* malloc = std::get_if<op::MallocDevice>(&program_.ops[made]);
      return malloc != nullptr && malloc->address == t.address;
    });
    UVMSIM_CHECK(at != all.end(), "a tensor under a plan is placed by a cudaMalloc of its own");
    return *at;
  }
  const TensorPlacement* placed_at(std::size_t ordinal, std::size_t op) const {
    const bool lives = op_of(iteration_->made[ordinal]) < op &&
                       (iteration_->freed[ordinal] == kNoRecord || op <= op_of(iteration_->freed[ordinal]));
    return lives ? &placement(ordinal) : nullptr;
  }

  static VirtualAddress tensor(const TensorInterval& of) { return static_cast<VirtualAddress>(of.tensor); }

  std::int32_t numbered(std::int32_t action) {
    if (action_ < 0) {
      action_ = static_cast<std::int32_t>(program_.plan_actions.size());
      program_.plan_actions.push_back({device_, number_, action});
    }
    return action_;
  }
  std::int16_t named(const std::string& name) {
    if (name.empty()) return -1;
    auto& names = program_.plan_names;
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) names.push_back(name);
    return static_cast<std::int16_t>(std::ranges::find(names, name) - names.begin());
  }
  std::int32_t rules(const Plan& plan) {
    const PlanRules of{plan.reclaim, plan.speculate};
    auto& rules = program_.plan_rules;
    const auto found = std::ranges::find(rules, of);
    if (found == rules.end()) rules.push_back(of);
    return static_cast<std::int32_t>(std::ranges::find(rules, of) - rules.begin());
  }
  void insert(std::size_t at, Op op) { inserted_.push_back({at, std::move(op)}); }

  Program program_;
  const trace::Trace& trace_;
  std::unordered_map<trace::TensorId, std::vector<TensorPlacement>> addresses_;  // looked up, never walked
  std::unordered_map<trace::TensorId, std::vector<std::size_t>> ordinals_;       // of the iteration; the same
  std::vector<Inserted> inserted_;
  std::set<std::size_t> left_out_;  // operations
  DeviceOrdinal device_{};
  VirtualAddress workspace_at_ = 0;                      // behind all tensors: where workspaces come one by one
  std::map<std::int32_t, op::MallocDevice> workspaces_;  // of the plan's variants, by kernel
  const IterationRecords* iteration_ = nullptr;
  std::int32_t number_ = 0;   // of the iteration
  std::int32_t action_ = -1;  // in Program::plan_actions, of the action that is being lowered
};

}  // namespace

std::size_t place_of(const Trigger& t) {
  return 2 * static_cast<std::size_t>(t.kernel) + (t.on == Trigger::On::AfterKernel ? 1 : 0);
}

trace::Trace as_explicit_memory(trace::Trace trace) {
  std::erase_if(trace.records, [](const trace::Record& r) {
    return std::holds_alternative<trace::SegmentAlloc>(r) || std::holds_alternative<trace::SegmentFree>(r);
  });
  for (trace::Record& r : trace.records)
    if (auto* a = std::get_if<trace::Alloc>(&r)) {
      a->segment = a->offset = -1;
      if (counts_in_plans(*a, DeviceOrdinal{a->device})) a->space = static_cast<std::int8_t>(trace::Space::Device);
    }
  return trace;
}

Program lower(Program program, const trace::Trace& trace, std::span<const Plan> plans) {
  std::set<DeviceOrdinal> devices;
  for (const Plan& plan : plans) devices.insert(DeviceOrdinal{plan.gpu.value});
  Lowering lowering(std::move(program), trace);
  for (const DeviceOrdinal device : devices) lowering.add(device, plans);
  return lowering.take();
}

const Plan* plan_for(std::span<const Plan> plans, GpuIndex gpu, const IterationShape& shape, std::int32_t iteration) {
  const Plan* latest = nullptr;
  for (const Plan& plan : plans)
    if (plan.gpu == gpu && plan.iteration == shape && plan.first_iteration <= iteration &&
        (latest == nullptr || plan.first_iteration >= latest->first_iteration))
      latest = &plan;
  return latest;
}

}  // namespace uvmsim
