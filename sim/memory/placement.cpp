#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "base/number_text.h"
#include "base/quantity.h"
#include "memory/address_space.h"
#include "memory/allocator.h"
#include "memory/cudnn_choice.h"
#include "memory/ipc.h"
#include "memory/pools.h"
#include "trace/header.h"

namespace uvmsim {
namespace {

using trace::Space;

// Walks a trace once, in host issue order, and appends its operations to a program.
class Placement {
 public:
  Placement(const trace::Trace& trace, const PlacementOptions& options, std::vector<PoolSample>* history)
      : trace_(trace),
        options_(options),
        history_(history),
        address_space_(program_, options),
        pools_(address_space_, options),
        choice_(trace) {
    program_.name = trace.header.name;
    program_.strings = trace.strings;
    program_.options = trace.options;
    program_.kinds = trace.header.kinds;
    program_.host_op = nanoseconds(trace.header.host_op_ns);
    program_.samples = trace.header.samples * static_cast<double>(trace::device_count(trace.header));
    program_.sample_unit = trace.header.sample_unit;
    program_.ops.reserve(trace.records.size());
    program_.operands.reserve(trace.accesses.size());
    for (const std::string& kind : trace.header.kinds)
      for_ipc_.push_back(!options.ipc_allocator.empty() && shared_by_ipc(options, kind));
  }

  Program run() {
    if (pools_.want_lifetimes()) measure_lifetimes();
    program_.ops.reserve(trace_.records.size());
    program_.operands.reserve(trace_.accesses.size());
    for (const trace::Record& record : trace_.records) {
      if (options_.keep_tensors) program_.record_ops.push_back(static_cast<std::uint32_t>(program_.ops.size()));
      std::visit([this](const auto& r) { place(r); }, record);
      if (program_.out_of_memory) break;
    }
    finish_statistics();
    return std::move(program_);
  }

 private:
  // Where a live tensor is. Host tensors (pinned, pageable) have no address the GPU or the driver deals with.
  struct Placed {
    VirtualAddress address = 0;
    std::int64_t bytes = 0;
    DeviceOrdinal device{};
    Pools::Pool* pool = nullptr;  // nullptr: a host tensor, or placed in a recorded segment
    bool on_host = false;
    std::int32_t index = -1;  // in Program::tensors, when they are kept
  };

  void place(const trace::Alloc& r) {
    ++allocations_;
    const bool for_ipc = r.kind < for_ipc_.size() && for_ipc_[r.kind];
    const Space space = space_of(r, for_ipc);
    if (!take(r, space, for_ipc, next_lifetime()))
      give_up("tensor " + std::to_string(r.tensor) + " (" + kind_of(r) + ")", r.bytes);
  }

  // Pinned or pageable memory that the trace says is the host's.
  static bool on_host(const trace::Alloc& r) {
    return r.space == static_cast<std::int8_t>(Space::PinnedHost) ||
           r.space == static_cast<std::int8_t>(Space::PageableHost);
  }
  Space space_of(const trace::Alloc& r, bool for_ipc) const {
    if (for_ipc) return Space::Device;
    return r.space < 0 ? pools_.space() : static_cast<Space>(r.space);
  }

  // A new live tensor. False: there is no memory for it.
  bool take(const trace::Alloc& r, Space space, bool for_ipc, std::int64_t lifetime) {
    Placed placed{.bytes = r.bytes, .device = DeviceOrdinal{r.device}, .on_host = on_host(r)};
    if (!placed.on_host) {
      const bool recorded = r.segment >= 0 && !for_ipc;
      if (recorded) {
        placed.address = segments_.at(r.segment) + static_cast<VirtualAddress>(r.offset);
      } else {
        placed.pool = &pools_.of(placed.device, space, for_ipc);
        const auto address = placed.pool->allocator->allocate({Bytes{r.bytes}, r.stream, lifetime});
        if (!address) return false;
        placed.address = *address;
      }
      live_bytes_ += r.bytes;
      AllocatorStats& stats = program_.allocator;
      stats.peak_live_bytes = std::max(stats.peak_live_bytes, live_bytes_);
      DeviceState& state = devices_[placed.device];
      state.live_bytes += r.bytes;
      if (recorded) state.recorded_bytes += r.bytes;
      note(placed.device, state);
      note_tensor(placed, r.kind);
    }
    if (options_.keep_tensors && !placed.on_host) placed.index = keep(r, placed.address);
    UVMSIM_CHECK(tensors_.emplace(r.tensor, placed).second, "a tensor is allocated once while it lives");
    return true;
  }

  void place(const trace::Free& r) {
    const auto found = tensors_.find(r.tensor);
    UVMSIM_CHECK(found != tensors_.end(), "only live tensors are freed");
    const Placed placed = found->second;
    tensors_.erase(found);
    if (placed.on_host) return;
    note_tensor(placed, TensorEvent::kFreed);
    live_bytes_ -= placed.bytes;
    DeviceState& state = devices_[placed.device];
    state.live_bytes -= placed.bytes;
    if (placed.pool)
      pools_.free(*placed.pool, placed.address);
    else
      state.recorded_bytes -= placed.bytes;
    note(placed.device, state);
  }

  // Placement recorded by a capture replaces the allocator; which memory it is, the options say.
  void place(const trace::SegmentAlloc& r) {
    const auto address = address_space_.allocate(Bytes{r.bytes}, DeviceOrdinal{r.device}, pools_.space());
    if (!address) return give_up("segment " + std::to_string(r.segment), r.bytes);
    segments_[r.segment] = *address;
  }
  void place(const trace::SegmentFree& r) {
    const auto found = segments_.find(r.segment);
    UVMSIM_CHECK(found != segments_.end(), "only live segments are freed");
    address_space_.free(found->second);
    segments_.erase(found);
  }

  void place(const trace::Kernel& r) {
    op::Kernel kernel{.name = r.name,
                      .stream = r.stream,
                      .device = DeviceOrdinal{r.device},
                      .duration = nanoseconds(r.duration_ns),
                      .operands = {},
                      .grid = r.grid,
                      .block = r.block,
                      .gap = nanoseconds(r.gap_ns),
                      .registers = r.registers};
    const trace::LaunchVariant* way = options_.cudnn_benchmark && r.variants >= 0 ? way_of(r) : nullptr;
    kernel.operands = resolve(r.accesses);
    if (way != nullptr) {
      kernel.duration = nanoseconds(way->duration_ns);
      if (way->workspace > 0) add_operand(kernel.operands, {.tensor = kWorkspace, .mode = trace::Mode::ReadWrite});
    }
    append(kernel);
    if (way != nullptr && way->workspace > 0) place(trace::Free{kWorkspace});
  }

  // The launch variant that runs, with its workspace allocated; nullptr: none does.
  const trace::LaunchVariant* way_of(const trace::Kernel& r) {
    std::optional<std::int32_t> chosen = choice_.chosen(r);
    if (!chosen) chosen = choice_.choose(r, largest_block(DeviceOrdinal{r.device}), populate_chunk());
    if (*chosen == CudnnChoice::kAsRecorded) return nullptr;
    const trace::LaunchVariant& way = choice_.variants_of(r)[static_cast<std::size_t>(*chosen)];
    if (way.workspace == 0) return &way;
    const trace::Alloc workspace{
        .tensor = kWorkspace, .bytes = way.workspace, .kind = workspace_kind(), .device = r.device, .stream = r.stream};
    if (take(workspace, pools_.space(), false, 1)) return &way;
    choice_.fall_back(r);
    return nullptr;
  }

  // Of what cudaMemGetInfo calls free, or inside what the pool holds. Under managed memory free is what is not
  // populated: prefetched allocations are at once, others once they are used.
  Bytes largest_block(DeviceOrdinal device) {
    std::int64_t free = options_.device_capacity.value;
    if (free == 0) return {std::numeric_limits<std::int64_t>::max()};
    const Space space = pools_.space();
    const auto usage = address_space_.usage().find(device);
    const std::int64_t held = usage == address_space_.usage().end() ? 0 : usage->second.reserved.value;
    free -= space == Space::Device || options_.prefetch_on_alloc ? held : devices_[device].live_bytes;
    return std::max(Bytes{free}, pools_.of(device, space, false).allocator->largest_free());
  }
  Duration populate_chunk() const {
    const bool faults = pools_.space() != Space::Device && !options_.prefetch_on_alloc;
    return faults ? options_.populate_chunk : Duration{0};
  }
  std::uint8_t workspace_kind() {
    std::vector<std::string>& kinds = program_.kinds;
    const auto found = std::ranges::find(kinds, "ws") - kinds.begin();
    if (std::cmp_equal(found, kinds.size())) kinds.emplace_back("ws");
    return static_cast<std::uint8_t>(found);
  }
  void place(const trace::Copy& r) {
    append(op::Copy{.direction = r.direction,
                    .stream = r.stream,
                    .device = DeviceOrdinal{r.device},
                    .peer = device_or_none(r.peer),
                    .bytes = r.bytes,
                    .operands = resolve(r.accesses),
                    .pinned = r.pinned,
                    .asynchronous = r.asynchronous});
  }
  void place(const trace::CollectiveOp& r) {
    append(op::Collective{.kind = r.kind,
                          .stream = r.stream,
                          .device = DeviceOrdinal{r.device},
                          .bytes = r.bytes,
                          .operands = resolve(r.accesses),
                          .ranks = r.ranks,
                          .communicator = r.communicator,
                          .peer = device_or_none(r.peer),
                          .stride = r.stride,
                          .priority = r.priority,
                          .droppable = r.droppable,
                          .recorded = nanoseconds(r.duration_ns)});
  }
  void place(const trace::HostStep& r) {
    append(op::HostStep{.duration = nanoseconds(r.duration_ns),
                        .operands = resolve(r.accesses),
                        .thread = r.thread,
                        .join = r.join,
                        .left = r.left});
  }

  // Calls on managed ranges; on other memory they are errors the program would have met, so they are no-ops.
  void place(const trace::Prefetch& r) {
    if (const auto range = managed_range(r.tensor, r.offset, r.length); range.bytes > 0)
      append(op::Prefetch{range.address, range.bytes, device_or_none(r.destination), r.stream});
  }
  void place(const trace::Discard& r) {
    if (const auto range = managed_range(r.tensor, r.offset, r.length); range.bytes > 0)
      append(op::Discard{range.address, range.bytes, r.stream, r.lazy});
  }
  void place(const trace::Advise& r) {
    if (const auto range = managed_range(r.tensor, r.offset, r.length); range.bytes > 0)
      append(op::Advise{range.address, range.bytes, r.advice, device_or_none(r.device)});
  }

  void place(const trace::EventRecord& r) { append(op::EventRecord{r.event, r.stream}); }
  void place(const trace::EventWait& r) { append(op::EventWait{r.event, r.stream}); }
  void place(const trace::Synchronize& r) { append(op::Synchronize{r.stream}); }
  void place(const trace::Iteration& r) {
    layer_ = -1;
    append(op::Iteration{r.index});
  }
  void place(const trace::Phase& r) {
    pools_.enter(trace_.strings[static_cast<std::size_t>(r.name)]);
    append(op::Phase{r.name});
  }
  void place(const trace::Layer& r) { layer_ = trace_.strings[static_cast<std::size_t>(r.name)].empty() ? -1 : r.name; }

  // In trace files -1 is the host, or a peer that is not known.
  static std::optional<DeviceOrdinal> device_or_none(std::int8_t device) {
    return device < 0 ? std::nullopt : std::optional(DeviceOrdinal{device});
  }

  void append(const Op& operation) { program_.ops.push_back(operation); }

  // The part of a tensor that [offset, offset + length) covers; length -1: to the end. Empty for host tensors.
  Operand range_of(trace::TensorId tensor, std::int64_t offset, std::int64_t length) const {
    const auto found = tensors_.find(tensor);
    UVMSIM_CHECK(found != tensors_.end(), "operands are live tensors");
    const Placed& placed = found->second;
    const std::int64_t first = std::clamp<std::int64_t>(offset, 0, placed.bytes);
    const std::int64_t left = placed.bytes - first;
    return {.address = placed.address + static_cast<VirtualAddress>(first),
            .bytes = placed.on_host ? 0 : (length < 0 ? left : std::min(length, left))};
  }

  Operand managed_range(trace::TensorId tensor, std::int64_t offset, std::int64_t length) const {
    Operand range = range_of(tensor, offset, length);
    if (!range.managed()) range.bytes = 0;
    return range;
  }

  OperandSpan resolve(trace::AccessSpan span) {
    const auto first = static_cast<std::uint32_t>(program_.operands.size());
    OperandSpan operands{first, 0};
    for (std::uint32_t i = span.first; i < span.first + span.count; ++i) add_operand(operands, trace_.accesses[i]);
    return operands;
  }

  // Behind the last ones; nothing of host tensors.
  void add_operand(OperandSpan& operands, const trace::Access& access) {
    Operand operand = range_of(access.tensor, access.offset, access.length);
    if (operand.bytes <= 0) return;
    operand.mode = access.mode;
    operand.pattern = access.pattern;
    operand.passes = access.passes;
    operand.options = access.options;
    program_.operands.push_back(operand);
    if (options_.keep_tensors) program_.operand_tensors.push_back(tensors_.at(access.tensor).index);
    ++operands.count;
  }

  std::int32_t keep(const trace::Alloc& r, VirtualAddress address) {
    const std::vector<std::string>& kinds = trace_.header.kinds;
    program_.tensors.push_back({.id = r.tensor,
                                .kind = r.kind < kinds.size() ? kinds[r.kind] : "",
                                .layer = layer_,
                                .device = DeviceOrdinal{r.device},
                                .address = address,
                                .bytes = r.bytes});
    return static_cast<std::int32_t>(program_.tensors.size() - 1);
  }

  // --- what allocators that want to know are told: kernels between an allocation and its free, in order of allocation

  void measure_lifetimes() {
    std::unordered_map<trace::TensorId, std::size_t> allocation;
    std::int64_t kernels = 0;
    for (const trace::Record& record : trace_.records) {
      if (const auto* alloc = std::get_if<trace::Alloc>(&record)) {
        allocation[alloc->tensor] = lifetimes_.size();
        lifetimes_.push_back(AllocationRequest::kForever);
        allocated_at_.push_back(kernels);
      } else if (const auto* free = std::get_if<trace::Free>(&record)) {
        const std::size_t i = allocation.at(free->tensor);
        lifetimes_[i] = kernels - allocated_at_[i];
      } else if (std::holds_alternative<trace::Kernel>(record)) {
        ++kernels;
      }
    }
  }

  std::int64_t next_lifetime() const {
    return lifetimes_.empty() ? AllocationRequest::kForever : lifetimes_[allocations_ - 1];
  }

  // --- statistics

  struct DeviceState {
    std::int64_t live_bytes = 0;
    std::int64_t recorded_bytes = 0;  // of these in recorded segments
    PoolState peak = {};
  };

  void note_tensor(const Placed& placed, std::int16_t kind) {
    if (placed.address < kManagedBase) return;
    program_.tensor_events.push_back(
        {static_cast<std::uint32_t>(program_.ops.size()), kind, placed.address, placed.bytes});
  }

  // After each allocation and free.
  void note(DeviceOrdinal device, DeviceState& state) {
    const auto usage = address_space_.usage().find(device);
    const std::int64_t reserved = usage == address_space_.usage().end() ? 0 : usage->second.reserved.value;
    if (reserved > state.peak.reserved_bytes) state.peak = pool_state(device, state);
    if (history_ != nullptr) history_->push_back({device.value, state.live_bytes, reserved});
  }

  PoolState pool_state(DeviceOrdinal device, const DeviceState& state) const {
    PoolState pool{.live_bytes = state.live_bytes,
                   .active_bytes = state.recorded_bytes,
                   .reserved_bytes = address_space_.usage().at(device).reserved.value};
    for (const Pools::Pool& of : pools_.all()) {
      if (of.device != device) continue;
      pool.active_bytes += of.allocator->active().value;
      pool.largest_free_bytes = std::max(pool.largest_free_bytes, of.allocator->largest_free().value);
    }
    pool = with_fragmentation(pool);
    if (!segments_.empty()) pool.external_fragmentation = 0;  // what is free inside recorded segments was not recorded
    return pool;
  }

  void finish_statistics() {
    AllocatorStats& stats = program_.allocator;
    stats.reserved_bytes = address_space_.reserved_bytes();
    stats.peak_reserved_bytes = address_space_.peak_reserved_bytes();
    for (const auto& [device, usage] : address_space_.usage()) {
      const DeviceState& state = devices_[device];
      const DeviceAllocator of{.device = device.value,
                               .peak = state.peak,
                               .end = pool_state(device, state),
                               .driver_allocs = usage.allocs,
                               .driver_frees = usage.frees,
                               .cache_flushes = pools_.cache_flushes(device)};
      stats.cache_flushes += of.cache_flushes;
      stats.devices.push_back(of);
    }
  }

  // "act of encoder.layer.3": the kind and the layer that the trace gives it.
  std::string kind_of(const trace::Alloc& r) const {
    const std::string kind = r.kind < trace_.header.kinds.size() ? trace_.header.kinds[r.kind] : "of no kind";
    return layer_ < 0 ? kind : kind + " of " + trace_.strings[static_cast<std::size_t>(layer_)];
  }

  // Exact below 1 GB.
  static std::string about(std::int64_t bytes) {
    return bytes < 1'000'000'000 ? to_text(Bytes{bytes}) : bytes_text(bytes);
  }

  void give_up(const std::string& what, std::int64_t bytes) {
    program_.out_of_memory = true;
    program_.out_of_memory_detail = "no memory for " + what + " of " + about(bytes) + ": " + about(live_bytes_) +
                                    " live, " + about(address_space_.reserved_bytes()) + " reserved, capacity " +
                                    about(options_.device_capacity.value);
  }

  const trace::Trace& trace_;
  const PlacementOptions& options_;
  std::vector<PoolSample>* const history_;
  static constexpr trace::TensorId kWorkspace = -1;  // of the kernel that is being placed

  Program program_;
  AddressSpace address_space_;
  Pools pools_;
  CudnnChoice choice_;
  std::vector<bool> for_ipc_;  // by kind: from the pool of options.ipc_allocator
  std::unordered_map<trace::TensorId, Placed> tensors_;
  std::unordered_map<std::int64_t, VirtualAddress> segments_;
  std::map<DeviceOrdinal, DeviceState> devices_;
  trace::StringIndex layer_ = -1;
  std::int64_t live_bytes_ = 0;
  std::size_t allocations_ = 0;
  std::vector<std::int64_t> lifetimes_, allocated_at_;  // by allocation, if the allocator wants them
};

}  // namespace

Program place(const trace::Trace& trace, const PlacementOptions& options, std::vector<PoolSample>* history) {
  return Placement(trace, options, history).run();
}

}  // namespace uvmsim
