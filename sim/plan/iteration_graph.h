// What one iteration of one device does, counted once: kernels, tensors and steps by the ordinals that plans use, who
// reads and writes what, and the bytes that are held meanwhile. Planners, the checker, the lowering, call policies and
// `uvmsim plan show` count by it and by nothing else.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "plan/kernel_class.h"
#include "trace/record.h"

namespace uvmsim {

inline constexpr std::size_t kNoRecord = std::numeric_limits<std::size_t>::max();

// What tells iterations of one GPU apart.
struct IterationShape {
  std::int32_t kernels = 0;  // of the GPU
  std::int32_t held = 0;     // allocations live when the iteration begins
  std::int32_t made = 0;     // allocations that the iteration makes
  friend auto operator<=>(const IterationShape&, const IterationShape&) = default;
};

// The bytes that an allocation of `asked` holds: whole units of 512, as PyTorch's caching allocator rounds them.
constexpr std::int64_t held_bytes(std::int64_t asked) { return (asked + 511) / 512 * 512; }

// Whether the allocation is one of the device's tensors in plans: in managed or device memory of that device, or in
// memory that the trace does not name.
bool counts_in_plans(const trace::Alloc& alloc, DeviceOrdinal device);

// Where the ordinals of one iteration are in the trace: records are indices into Trace::records.
struct IterationRecords {
  std::size_t begin = 0, outer = 0;  // from its Iteration record (where the trace has one) to the next one's
  IterationShape shape{};
  std::vector<std::size_t> kernels;      // of the device, in issue order
  std::vector<trace::TensorId> tensors;  // those held first, in the order of their allocation
  std::vector<std::size_t> made, freed;  // records of these tensors; freed: kNoRecord when the iteration does not
};

// The devices that run kernels.
std::set<DeviceOrdinal> devices_of(const trace::Trace& trace);

// The iterations of device `device`, in order. A trace that marks none is one iteration that begins with nothing held.
std::vector<IterationRecords> iterations_of(const trace::Trace& trace, DeviceOrdinal device);

// Allocations of device `device` in plans that the records directly before `record` make.
std::int32_t allocations_before(const trace::Trace& trace, DeviceOrdinal device, std::size_t record);

// How one kernel, copy or collective uses one tensor: all its accesses to it together.
struct TensorUse {
  std::int32_t tensor = 0;
  bool reads = false;
  bool writes = false;
  bool overwrites = false;  // all of the tensor, and it reads nothing of it
};

// A run of IterationGraph::uses.
struct UseSpan {
  std::uint32_t first = 0, count = 0;
};

struct GraphKernel {
  trace::StringIndex name = 0;  // into IterationGraph::strings
  KernelClass kind = KernelClass::Other;
  std::int32_t layer = -1;  // into strings; -1: none
  std::int32_t phase = -1;  // into IterationGraph::phases; -1: none
  std::int32_t stream = 0;
  Duration duration{};           // in-core
  double flops = 0;              // 0: unknown
  Duration gap{};                // host time before the launch
  std::int32_t variants = -1;    // other ways to run it, into IterationGraph::variants; -1: none
  std::int32_t allocations = 0;  // directly before its launch
  UseSpan uses{};                // in the order of the first access
};

struct GraphTensor {
  std::int64_t bytes = 0;   // as it is held: held_bytes() of what was asked for
  std::int64_t asked = 0;   // bytes
  std::uint8_t kind = 0;    // into IterationGraph::kinds
  std::int8_t zeros = -1;   // share of its elements that are zero, in percent; -1: not known
  std::int32_t layer = -1;  // that it was made in, into strings; -1: none, or before the iteration
  // Memory is held for kernels in [first, outer): allocated before kernel `first`, freed before the launch of `outer`
  // at the earliest. Held tensors have first 0; what the iteration does not free has outer = number of kernels.
  std::int32_t first = 0, outer = 0;
  bool freed = false;  // by the iteration
  // Kernels that need it there, ascending. A copy or collective between two kernels counts as both.
  std::vector<std::int32_t> uses{};
  std::vector<std::int32_t> writers{};      // kernels that write to it, ascending
  std::vector<std::int32_t> overwriters{};  // of these, those that overwrite all of it
};

// What one record asks of the host, the device or its memory, in issue order.
struct GraphStep {
  enum class Kind : std::uint8_t {
    Allocate,
    Free,
    Kernel,
    Copy,
    Collective,
    Host,    // the host is busy with something of its own
    Launch,  // of a kernel or copy of another device; of GraphHostStep, what the host does before it
    Record,  // of an event, on a stream of the device
    Wait,    // of a stream for an event: for what was recorded last
    Synchronize
  };
  Kind kind = Kind::Kernel;
  // A tensor's or kernel's ordinal; of Synchronize the stream, -1: all; else an index into the list of that kind.
  std::int32_t index = 0;
};

struct GraphCopy {
  trace::CopyDirection direction = trace::CopyDirection::HostToDevice;
  std::int64_t bytes = 0;
  bool asynchronous = true;
  std::int32_t stream = 0;
  std::int32_t before = 0;  // the kernel that follows it
  UseSpan uses{};
};
struct GraphCollective {
  trace::Collective kind = trace::Collective::AllReduce;
  std::int32_t communicator = 0;
  std::int64_t bytes = 0;
  std::int32_t before = 0;
  UseSpan uses{};
};
struct GraphEvent {
  std::int32_t event = 0, stream = 0;
};
struct GraphHostStep {
  std::int32_t thread = 0;
  Duration duration{};
  std::int32_t before = 0;
};

class IterationGraph {
 public:
  // Of one of `iterations_of(trace, device)`. Keeps no reference to `trace`.
  IterationGraph(const trace::Trace& trace, DeviceOrdinal device, const IterationRecords& iteration);

  std::string workload;  // the trace's name
  IterationShape shape{};
  std::vector<std::string> strings{};  // of the trace
  std::vector<trace::LaunchVariants> variants{};
  std::vector<std::string> phases{}, kinds{};
  std::vector<GraphKernel> kernels{};
  std::vector<GraphTensor> tensors{};
  std::vector<GraphCopy> copies{};
  std::vector<GraphCollective> collectives{};
  std::vector<GraphEvent> events{};  // of Record and Wait
  std::vector<GraphHostStep> host_steps{};
  std::vector<GraphStep> steps{};
  std::vector<TensorUse> uses{};
  std::vector<std::int32_t> layer_ends{};  // the last kernel of each layer, ascending
  std::vector<std::int64_t> load{};        // bytes held while each kernel is prepared and runs, at most
  Duration host_op{};                      // host time of one asynchronous call

  std::span<const TensorUse> uses_of(UseSpan span) const { return std::span(uses).subspan(span.first, span.count); }
  std::span<const TensorUse> uses_of(std::int32_t kernel) const {
    return uses_of(kernels[static_cast<std::size_t>(kernel)].uses);
  }
  const std::string& name_of(std::int32_t kernel) const {
    return strings[static_cast<std::size_t>(kernels[static_cast<std::size_t>(kernel)].name)];
  }
  // Other ways to run the kernel; none: it has one.
  std::span<const trace::LaunchVariant> variants_of(std::int32_t kernel) const {
    const std::int32_t list = kernels[static_cast<std::size_t>(kernel)].variants;
    if (list < 0) return {};
    return variants[static_cast<std::size_t>(list)];
  }
  // The largest load; 0 without kernels.
  std::int64_t peak() const;
  // The first kernel of the phase `name`; -1: there is none.
  std::int32_t first_kernel_of(const std::string& name) const;
  // Whether kernel `kernel` overwrites all of the tensor without reading it: what was there is dead.
  bool overwrites(std::int32_t kernel, std::int32_t tensor) const;
};

}  // namespace uvmsim
