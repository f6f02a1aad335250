// A workload whose allocations have addresses: what one process asks of the CUDA runtime, in order.
//
// Placement (PyTorch's caching allocator, cudaMallocManaged, ...) happens in host issue order and does
// not depend on time, so it is done once, before the engine runs, and shared by all replicas of a
// data-parallel job: addresses are relative to a VaSpace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/page_range.h"
#include "base/units.h"
#include "trace/record.h"

namespace uvmsim {

// A resolved operand: an address instead of a tensor. Device-space operands have addresses below
// kManagedBase: they never fault.
struct Operand {
  VirtualAddress address = 0;
  std::int64_t bytes = 0;
  trace::Mode mode = trace::Mode::Read;
  trace::Pattern pattern = trace::Pattern::Sequential;
  std::int32_t passes = 1;
  std::int32_t options = -1;  // into Program::options

  bool managed() const { return address >= kManagedBase; }
  VirtualAddress end() const { return address + static_cast<VirtualAddress>(bytes); }
  // Those it lies on, if it has bytes.
  PageRange pages() const { return {page_of(address), page_of(end() - 1) + 1}; }
};

struct OperandSpan {
  std::uint32_t first = 0, count = 0;
  friend bool operator==(const OperandSpan&, const OperandSpan&) = default;
};

// Who waits for a transfer of a tensor. Source: the five forms that vDNN, vDNN++, IBM LMS, TFLMS and SwapAdvisor use.
enum class Sync : std::uint8_t {
  None,    // nobody; a kernel or allocation that comes too early falls back (reclaim, swap in on demand)
  Stream,  // the compute stream, at the first kernel that needs the data or the bytes; the host runs on
  Layer,   // the host joins compute and copy streams at the end of the layer (op::JoinLayer)
  Alloc,   // the host's allocation that finds too few bytes waits until they are free
  Host,    // the host waits for the transfer where it issues it
};

namespace op {
// cudaMallocManaged, and the VA range that it makes for it (memory/managed_ranges.h).
struct MallocManaged {
  VirtualAddress address;
  std::int64_t bytes;   // of the VA range; 0: the allocation is part of one that is there
  bool system = false;  // from malloc instead: GPUs with ATS access it where it is
};
struct FreeManaged {
  VirtualAddress address;  // of the VA range
  bool last = true;        // nothing else is in it: it goes
};
struct MallocDevice {
  VirtualAddress address;
  std::int64_t bytes;
  DeviceOrdinal device;
  bool again = false;  // of a plan: for kernels that run again, after its free, or a kernel's workspace
};                     // takes root chunks
struct FreeDevice {
  VirtualAddress address;
  DeviceOrdinal device;
};
struct Kernel {
  std::int32_t name;  // into Program::strings
  std::int32_t stream;
  DeviceOrdinal device;
  Duration duration;  // in-core
  OperandSpan operands;
  std::int64_t grid;  // 0: unknown
  std::int32_t block;
  Duration gap;
  std::int32_t registers = 0;  // of a thread; 0: unknown
};
struct Copy {
  trace::CopyDirection direction;
  std::int32_t stream;
  DeviceOrdinal device;
  std::optional<DeviceOrdinal> peer;  // the other device; nothing: not known
  std::int64_t bytes;
  OperandSpan operands;
  bool pinned, asynchronous;
};
struct Prefetch {
  VirtualAddress address;
  std::int64_t bytes;
  std::optional<DeviceOrdinal> destination;  // nothing: the host
  std::int32_t stream;
  bool of_allocator = false;  // made by the allocator, not by the trace
};
struct Discard {
  VirtualAddress address;
  std::int64_t bytes;
  std::int32_t stream;
  bool lazy;
};
struct Advise {
  VirtualAddress address;
  std::int64_t bytes;
  int advice;
  std::optional<DeviceOrdinal> processor;  // nothing: the host
};
struct Collective {
  trace::Collective kind;
  std::int32_t stream;
  DeviceOrdinal device;
  std::int64_t bytes;
  OperandSpan operands;
  std::int32_t ranks;
  std::int32_t communicator = 0;
  std::optional<DeviceOrdinal> peer = {};  // of a send or receive: the other device
  std::int32_t stride = 1, priority = -1;  // as in trace::CollectiveOp
  std::int64_t droppable = 0;
  Duration recorded{0};  // among all `ranks`, where the trace comes from; 0: not known
};
struct EventRecord {
  std::int32_t event, stream;
};
struct EventWait {
  std::int32_t event, stream;
};
struct Synchronize {
  std::int32_t stream;
};
struct HostStep {
  Duration duration;
  OperandSpan operands;
  std::int32_t thread = 0;          // 0: the one that issues everything else
  std::int32_t join = 0, left = 0;  // as in trace::HostStep
};
struct Iteration {
  std::int64_t index;
};
struct Phase {
  std::int32_t name;
};

// --- what a plan adds for explicit memory (plan/lower.h). `tensor`: the address of a cudaMalloc allocation. `action`:
// that the operation is for, an index into Program::plan_actions; -1: none.

// The plan of the iteration that begins here; iterations without one move tensors on demand.
struct UnderPlan {
  DeviceOrdinal device;
  std::int32_t rules;  // into Program::plan_rules
};
// To a memory node; its device bytes are free when the copy ends, or with `on_demand` when an allocation needs them.
struct SwapOut {
  DeviceOrdinal device;
  VirtualAddress tensor;
  Sync sync;
  bool on_demand;
  bool in_use;               // copied while the next kernel reads it; another SwapOut frees the bytes
  bool keep;                 // the copy stays there when the tensor comes back, until its contents change
  std::int16_t node, codec;  // Program::plan_names; -1: the nearest host memory, none
  double sparsity, ratio;    // of the tensor, for the codec: CodecTensor
  std::int32_t action;
};
struct SwapIn {
  DeviceOrdinal device;
  VirtualAddress tensor;
  Sync sync;
  std::int32_t kernels_until_use;
  std::int32_t action;
};
// Its contents are given up.
struct Drop {
  DeviceOrdinal device;
  VirtualAddress tensor;
  std::int32_t action;
};
// A kernel runs again: an earlier operation of the program.
struct Relaunch {
  DeviceOrdinal device;
  std::uint32_t kernel;  // into Program::ops
  std::int32_t action;
};
struct Encode {
  DeviceOrdinal device;
  VirtualAddress tensor;
  std::int16_t codec;      // Program::plan_names
  double sparsity, ratio;  // as of SwapOut
  std::int32_t action;
};
struct Decode {
  DeviceOrdinal device;
  VirtualAddress tensor;
  std::int32_t action;
};
// The CPU does the work of kernels that are not launched, on operands in host memory.
struct HostCompute {
  DeviceOrdinal device;
  std::uint32_t first, count;  // into Program::host_kernels
  int cores;
  std::int32_t action;
};
// The host waits for the transfers of Sync::Layer issued so far, and for the kernels.
struct JoinLayer {
  DeviceOrdinal device;
};
}  // namespace op

using Op = std::variant<op::MallocManaged, op::FreeManaged, op::MallocDevice, op::FreeDevice, op::Kernel, op::Copy,
                        op::Prefetch, op::Discard, op::Advise, op::Collective, op::EventRecord, op::EventWait,
                        op::Synchronize, op::HostStep, op::Iteration, op::Phase, op::UnderPlan, op::SwapOut, op::SwapIn,
                        op::Drop, op::Relaunch, op::Encode, op::Decode, op::HostCompute, op::JoinLayer>;

// What a plan says for whole iterations.
struct PlanRules {
  std::string reclaim = "lms";  // a name from `uvmsim list reclaim`
  bool speculate = false;       // copy out early what was reclaimed at the same place an iteration before
  friend bool operator==(const PlanRules&, const PlanRules&) = default;
};

// Which action an operation is for, of the plan of the device in that iteration.
struct PlanAction {
  DeviceOrdinal device{};
  std::int32_t iteration = 0, action = 0;
};

// One device's memory at one moment.
struct PoolState {
  std::int64_t live_bytes = 0;                    // asked for by the framework and not freed
  std::int64_t active_bytes = 0;                  // the same, as the allocator rounded it up
  std::int64_t reserved_bytes = 0;                // held from the driver
  std::int64_t largest_free_bytes = 0;            // the largest free block inside what is held
  std::int64_t internal_fragmentation_bytes = 0;  // active - live
  double external_fragmentation = 0;              // 1 - largest free / (reserved - active); 0: nothing is free
};

// `pool` with its fragmentation, from its bytes.
inline PoolState with_fragmentation(PoolState pool) {
  pool.internal_fragmentation_bytes = pool.active_bytes - pool.live_bytes;
  const std::int64_t free = pool.reserved_bytes - pool.active_bytes;
  pool.external_fragmentation =
      free > 0 ? 1 - static_cast<double>(pool.largest_free_bytes) / static_cast<double>(free) : 0;
  return pool;
}

// What the allocators of one device did, over the whole program.
struct DeviceAllocator {
  int device = 0;
  PoolState peak = {};  // when the reserved bytes first were at their highest
  PoolState end = {};   // after the last operation
  std::int64_t driver_allocs = 0, driver_frees = 0;
  std::int64_t cache_flushes = 0;  // the cache was returned because the driver had no memory left
};

// What the allocators did, over the whole program and all devices together.
struct AllocatorStats {
  std::int64_t peak_live_bytes = 0;      // requested by the framework and not freed
  std::int64_t peak_reserved_bytes = 0;  // held from the driver
  std::int64_t reserved_bytes = 0;       // at the end
  std::int64_t segment_allocs = 0, segment_frees = 0, cache_flushes = 0;
  std::vector<DeviceAllocator> devices = {};  // those that memory was taken on, ascending
};

// A framework-level allocation on a GPU, for whoever watches tensors.
struct TensorPlacement {
  std::int64_t id = 0;      // in the trace
  std::string kind;         // of Trace::header::kinds: weight, activation, ...; may be empty
  std::int32_t layer = -1;  // that it was allocated in, into Program::strings; -1: none
  DeviceOrdinal device{};
  VirtualAddress address = 0;
  std::int64_t bytes = 0;
};

// What a managed address range holds from here on: a new tensor, or nothing, because it was freed.
struct TensorEvent {
  std::uint32_t before_op = 0;  // into Program::ops: in place when that operation runs
  std::int16_t kind = kFreed;   // into Program::kinds
  static constexpr std::int16_t kFreed = -1;
  VirtualAddress address = 0;
  std::int64_t bytes = 0;
};

struct Program {
  std::string name;
  std::vector<std::string> strings;
  std::vector<trace::PatternOptions> options;
  std::vector<Operand> operands;
  std::vector<Op> ops;
  std::vector<TensorPlacement> tensors;         // empty unless PlacementOptions::keep_tensors
  std::vector<std::int32_t> operand_tensors;    // of each operand, into `tensors`; empty as well
  std::vector<std::string> kinds = {};          // of tensors: Trace::header::kinds
  std::vector<TensorEvent> tensor_events = {};  // of managed memory, in the order of `ops`
  Duration host_op{};                           // host time of one asynchronous call
  double samples = 0;                           // per iteration, of all devices
  std::string sample_unit;
  std::vector<std::uint32_t> record_ops = {};  // by record of the trace: its first operation; with keep_tensors
  std::vector<PlanRules> plan_rules = {};      // of op::UnderPlan
  std::vector<std::string> plan_names = {};    // of memory nodes and codecs
  std::vector<PlanAction> plan_actions = {};   // of operations of plans
  std::vector<op::Kernel> host_kernels = {};   // of op::HostCompute
  AllocatorStats allocator;
  bool out_of_memory = false;  // the allocator gave up; `ops` ends there
  std::string out_of_memory_detail;
};

}  // namespace uvmsim
