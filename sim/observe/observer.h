// What can be watched while a simulation runs. The engine tells an observer what happened, in simulated time. Nothing
// flows back: a run gives the same result with an observer and without, and without one it pays for a null test.
//
// GPUs, streams, processes and links are numbered from 0. Events are reported when they end, so that spans of different
// places come out of order; those of one place do not.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/units.h"

namespace uvmsim {

struct ObservedStream {
  int stream = 0;
  GpuIndex gpu{};
  int process = 0;
  std::string_view name;
};

// One direction of one hop.
struct ObservedLink {
  int link = 0;
  std::string_view name;
  BytesPerSecond bandwidth;
};

// A kernel's time by cause, as metrics/result.h has it: TimeSplit. The parts add up to the kernel's span.
struct KernelTime {
  Duration fault_cpu{}, eviction{}, copy_in{}, link_wait{}, compute{};
  Duration stalled() const { return fault_cpu + eviction + copy_in + link_wait; }
  KernelTime& operator+=(const KernelTime& b) {
    fault_cpu += b.fault_cpu;
    eviction += b.eviction;
    copy_in += b.copy_in;
    link_wait += b.link_wait;
    compute += b.compute;
    return *this;
  }
  friend KernelTime operator-(const KernelTime& a, const KernelTime& b) {
    return {a.fault_cpu - b.fault_cpu, a.eviction - b.eviction, a.copy_in - b.copy_in, a.link_wait - b.link_wait,
            a.compute - b.compute};
  }
};

// [begin, end) belongs to a tensor of the program: its index in Program::tensors.
struct TensorRange {
  VirtualAddress begin = 0, end = 0;
  std::int32_t tensor = 0;
};

struct KernelStart {
  int stream = 0;
  GpuIndex gpu{};
  int process = 0;
  Time begin{};
  std::string_view name;
  std::span<const TensorRange> operands;  // empty when the program kept no tensors
};

struct KernelSpan {
  int stream = 0;
  GpuIndex gpu{};
  Time begin{}, end{};
  std::string_view name;
  Duration in_core{};
  KernelTime time;
};

// Another operation of a stream: an explicit copy, a prefetch, a collective, a wait for an event.
struct StreamSpan {
  int stream = 0;
  GpuIndex gpu{};
  Time begin{}, end{};
  std::string_view name;
  Bytes bytes{};
};

// A call of a host thread of a process that takes it time of its own: cudaMalloc, cudaFree, a synchronisation, a
// step on the host.
struct HostSpan {
  int process = 0;
  Time begin{}, end{};
  std::string_view name;
  std::int32_t thread = 0;  // 0: the one that issues the program's operations
};

// One fault batch: the CPU works in [begin, serviced), waits for the batch's copies until `copied`, and for the replay
// until `replayed`. The batch before it ended at `begin` or earlier.
struct FaultBatchSpan {
  std::int64_t batch = 0;  // 1, 2, ...: counted over all GPUs
  GpuIndex gpu{};
  Time begin{}, serviced{}, copied{}, replayed{};
  std::int64_t entries = 0;  // read from the fault buffer; `pages` has the coalesced ones
  std::int64_t blocks = 0;
  std::span<const PageNumber> pages;
};

// One push of UVM's to one copy engine.
struct CopySpan {
  GpuIndex gpu{};  // whose engine it is
  bool to_device = false;
  bool eviction = false;
  bool peer = false;  // between two GPUs
  Time begin{}, end{};
  Bytes bytes{};
  std::int64_t batch = 0;  // the fault batch that asked for it; 0: none did
};

struct EvictionEvent {
  GpuIndex gpu{};
  Time at{};
  Bytes bytes{};
  std::int64_t batch = 0;  // as in CopySpan
};

// `bytes` went over `link` between the two times.
struct LinkTransfer {
  int link = 0;
  Time begin{}, end{};
  Bytes bytes{};
};

class Observer {
 public:
  Observer() = default;
  virtual ~Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  virtual void stream_opened(const ObservedStream&) {}
  virtual void link_opened(const ObservedLink&) {}
  // Iteration `index` begins on `gpu`; -1: the program has ended there.
  virtual void iteration(GpuIndex /*gpu*/, std::int64_t /*index*/, Time) {}
  virtual void kernel_started(const KernelStart&) {}
  virtual void kernel(const KernelSpan&) {}
  virtual void stream_operation(const StreamSpan&) {}
  virtual void host_call(const HostSpan&) {}
  virtual void fault_batch(const FaultBatchSpan&) {}
  virtual void copy(const CopySpan&) {}
  virtual void eviction(const EvictionEvent&) {}
  virtual void transfer(const LinkTransfer&) {}
  // The link was busy with one transfer or several from `begin` to `end`.
  virtual void link_busy(int /*link*/, Time /*begin*/, Time /*end*/) {}
  // Managed bytes on the GPU; bytes that a process holds from the driver, managed and cudaMalloc.
  virtual void resident(GpuIndex /*gpu*/, Time, Bytes) {}
  virtual void reserved(int /*process*/, Time, Bytes) {}

  // The tensors of process 0 on `gpu` whose residency the observer wants to know now; mostly none. `residency` then
  // gets the bytes of each that are on that GPU.
  virtual std::span<const TensorRange> residency_wanted(GpuIndex /*gpu*/, Time) { return {}; }
  virtual void residency(GpuIndex /*gpu*/, Time, std::span<const std::int64_t> /*bytes*/) {}
};

}  // namespace uvmsim
