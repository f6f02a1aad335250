// Builds the trace of an import: valid whatever the source says, and with a list of what the source does not say.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/error_list.h"
#include "trace/format.h"
#include "trace/record.h"
#include "workload/trace_builder.h"

namespace uvmsim {

using Extents = std::array<std::int64_t, 3>;  // of a grid or a block: x, y, z

// 0 where they make no sense.
std::int64_t product_of(const Extents& extents);

// Where an allocation is and who made it. Devices and streams are those of the source; `take` renumbers them.
struct AllocationFacts {
  TensorKind kind = TensorKind::Other;
  std::int64_t device = 0, stream = 0;
  int space = -1;  // a trace::Space; -1: as the workload says
};

// Takes what a source says in host issue order. Numbers that a trace cannot hold throw trace::ParseError, to which the
// importer adds the place.
class ImportBuilder {
 public:
  ImportBuilder();

  trace::Header& header() { return records_.header(); }

  // --- Memory ------------------------------------------------------------------------------------------------
  trace::TensorId allocate(std::int64_t bytes, const AllocationFacts& facts = {});
  // Requires a live tensor.
  void free(trace::TensorId tensor);
  bool is_live(trace::TensorId tensor) const;
  std::int64_t size_of(trace::TensorId tensor) const;

  // The same by address: one address space for the host and all devices, as CUDA has it. An allocation over one that
  // is still there means that a free was not recorded: the old one is freed and the loss is counted.
  trace::TensorId allocate_at(std::uint64_t address, std::int64_t bytes, const AllocationFacts& facts = {});
  // False when nothing starts at `address`.
  bool free_at(std::uint64_t address);
  struct Place {
    trace::TensorId tensor = -1;
    std::int64_t offset = 0;
  };
  // The live allocation that holds `address`.
  std::optional<Place> find(std::uint64_t address) const;

  // `length` bytes at `offset`, cut to the tensor; nullopt when it is not live or nothing is left. `length` -1: to the
  // tensor's end.
  std::optional<trace::Access> access(trace::TensorId tensor, trace::Mode mode, std::int64_t offset = 0,
                                      std::int64_t length = -1) const;

  // The index of `options`, for Access::options.
  std::int32_t options(trace::PatternOptions options) { return records_.options(std::move(options)); }

  // --- Work --------------------------------------------------------------------------------------------------
  struct KernelFacts {
    std::string_view name;
    std::int64_t device = 0, stream = 0, duration_ns = 0, gap_ns = 0;
    std::int64_t grid = 0, block = 0, registers = 0, shared_memory = 0;
  };
  // Operands that name the same range are merged.
  void kernel(const KernelFacts& facts, std::vector<trace::Access> operands);
  struct CopyFacts {
    trace::CopyDirection direction = trace::CopyDirection::HostToDevice;
    std::int64_t device = 0, peer = -1, stream = 0, bytes = 0;
    bool pinned = true, asynchronous = true;
  };
  void copy(const CopyFacts& facts, std::vector<trace::Access> operands = {});
  struct CollectiveFacts {
    trace::Collective kind = trace::Collective::AllReduce;
    std::int64_t communicator = 0, device = 0, stream = 0, bytes = 0, ranks = 0, duration_ns = 0;
  };
  void collective(const CollectiveFacts& facts, std::vector<trace::Access> operands = {});
  // `to`: a device of the source, or -1 for the host. The range must lie in a live tensor.
  void prefetch(const trace::Access& range, std::int64_t to, std::int64_t device, std::int64_t stream);
  void discard(const trace::Access& range, std::int64_t device, std::int64_t stream);
  void advise(const trace::Access& range, std::int8_t advice, std::int64_t device);
  void record_event(std::uint64_t event, std::int64_t device, std::int64_t stream);
  // False, and nothing is written, when the event was not recorded before.
  bool wait_event(std::uint64_t event, std::int64_t device, std::int64_t stream);
  void synchronize_device() { records_.append(trace::Synchronize{-1}); }
  void synchronize(std::int64_t device, std::int64_t stream);
  void host_step(std::int64_t duration_ns, std::vector<trace::Access> operands = {});
  void iteration() { records_.iteration(next_iteration_++); }
  void phase(std::string_view name) { records_.phase(name); }
  void layer(std::string_view name) { records_.layer(records_.string(name)); }

  // What the source says of device `device`.
  void device(std::int64_t device, trace::DeviceInfo info);

  // --- What is not known ---------------------------------------------------------------------------------------
  // Counts one more of what the source does not say; `what` is the sentence behind the count: "kernels: ...".
  void unknown(const std::string& what, std::int64_t count = 1) { unknowns_[what] += count; }

  std::int64_t kernels() const { return kernels_; }

  // The trace, with devices and streams counted from 0 and the unknowns in its header. Call once.
  trace::Trace take();

 private:
  struct Tensor {
    std::int64_t bytes = 0;
    bool live = false;
    std::optional<std::uint64_t> address;
  };

  trace::AccessSpan operands(std::vector<trace::Access>& accesses);
  std::int32_t stream_index(std::int64_t device, std::int64_t stream);
  std::int8_t device_number(std::int64_t device);

  TraceBuilder records_;
  std::unordered_map<trace::TensorId, Tensor> tensors_;  // looked up, never walked
  std::map<std::uint64_t, trace::TensorId> by_address_;  // live ones, by their first byte
  std::map<std::pair<std::int64_t, std::int64_t>, std::int32_t> streams_;
  std::unordered_map<std::uint64_t, std::int32_t> events_;
  std::map<std::int64_t, trace::DeviceInfo> devices_;  // that a record names, or the source describes
  std::map<std::int64_t, bool> used_devices_;
  std::map<std::string, std::int64_t> unknowns_;
  std::int64_t kernels_ = 0;
  int next_iteration_ = 0;
};

// `value` if a trace can hold it; else throws trace::ParseError that names `what`.
std::int64_t checked(std::int64_t value, trace::Limits limits, std::string_view what);

// Host time between the calls of a program, over all its threads: what is left when every call's own time is taken out.
class HostClock {
 public:
  // A call from `start` to `end`; returns the host time since the calls before it ended.
  std::int64_t call(std::int64_t start, std::int64_t end);

 private:
  std::optional<std::int64_t> busy_until_;
};

// The middle one of `values`, the lower of two; 0 for none. Reorders them.
std::int64_t median(std::vector<std::int64_t>& values);

}  // namespace uvmsim
