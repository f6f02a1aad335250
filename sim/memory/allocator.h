// Allocators answer "where does an allocation live, and what does the driver see of it?".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/describe.h"
#include "base/registry.h"
#include "base/units.h"
#include "memory/program.h"
#include "trace/record.h"

namespace uvmsim {

// Where an allocator gets its memory: cudaMalloc or cudaMallocManaged of one process and device. Each call
// appends the driver-level operations to the program being built.
class UpstreamMemory {
 public:
  virtual ~UpstreamMemory() = default;
  // A new segment; nullopt when device memory is exhausted (never for managed memory). 2 MiB-aligned, but for managed
  // ones that share a VA range (memory/managed_ranges.h).
  virtual std::optional<VirtualAddress> allocate(Bytes size) = 0;
  // Of a segment, or of what one `map` mapped.
  virtual void free(VirtualAddress segment) = 0;

  // Addresses without memory (cuMemAddressReserve), 2 MiB-aligned, and memory at some of them (cuMemCreate, cuMemMap;
  // whole 2 MiB). Device memory only. `map` is false when device memory is exhausted.
  virtual VirtualAddress reserve(Bytes size) = 0;
  virtual bool map(VirtualAddress address, Bytes size) = 0;

  // cudaMemPrefetchAsync of a segment to its GPU. Nothing for device memory, or if `allocate` did it already.
  virtual void prefetch(VirtualAddress segment) = 0;
  // cudaStreamSynchronize.
  virtual void synchronize(int stream) = 0;

  // The GPU's memory as its properties give it, and how much of it cudaMalloc can still have; 0: not known.
  virtual Bytes gpu_memory() const = 0;
  virtual Bytes available() const = 0;
};

// What a framework asks for.
struct AllocationRequest {
  Bytes size;  // > 0
  int stream = 0;
  // Kernels that the process launches before it frees the allocation, for allocators that ask for it
  // (AllocatorFactory::wants_lifetimes); kForever when it never does, or when that is not known.
  static constexpr std::int64_t kForever = -1;
  std::int64_t kernels = kForever;
};

class AllocatorFactory;

// Framework-level placement. One is made for each process and device, by an A that is constructed from an
// UpstreamMemory& and its Options, which may have `contradictions(memory)` and a constant `kWantsLifetimes`.
class Allocator {
 public:
  static constexpr KindText kKind{
      .name = "allocator", .noun = "allocator", .use = "workload.allocator", .options = "workload.allocator_options"};
  using Factory = AllocatorFactory;
  template <class A>
  class FactoryOf;

  virtual ~Allocator() = default;
  // An address, a multiple of 256; nullopt: out of memory.
  virtual std::optional<VirtualAddress> allocate(const AllocationRequest& request) = 0;
  virtual void free(VirtualAddress address) = 0;

  // Held from the driver; of that, in blocks in use (requests as they were rounded up).
  virtual Bytes reserved() const = 0;
  virtual Bytes active() const = 0;
  // The largest free block inside what is held. May look at all of them.
  virtual Bytes largest_free() const = 0;
  // Times the cache was returned because the driver had no memory left.
  virtual std::int64_t cache_flushes() const { return 0; }
};

class AllocatorFactory : public Factory<Allocator, UpstreamMemory&> {
 public:
  // What is wrong with the parameters, for `memory` ("managed", "device" or "system"); empty: nothing.
  virtual std::vector<std::string> contradictions(const std::string& memory) const = 0;
  virtual bool wants_lifetimes() const = 0;
};

template <class A>
class Allocator::FactoryOf final : public With<AllocatorFactory, typename OptionsOf<A>::type> {
 public:
  std::vector<std::string> contradictions([[maybe_unused]] const std::string& memory) const override {
    if constexpr (requires { this->options_.contradictions(memory); }) return this->options_.contradictions(memory);
    return {};
  }
  bool wants_lifetimes() const override {
    return requires { OptionsOf<A>::type::kWantsLifetimes; };
  }
  std::unique_ptr<Allocator> make(UpstreamMemory& upstream) const override {
    return std::make_unique<A>(upstream, this->options_);
  }
};

inline Registry<Allocator>& allocators() { return registry<Allocator>(); }

// The registered allocator `name` with its default parameters.
std::unique_ptr<Allocator> make_allocator(const std::string& name, UpstreamMemory& upstream);

// From the first record of a phase on, tensors come from another allocator. What the one before holds goes back to the
// driver once nothing of it is in use: RMM's finalize and initialize.
struct AllocatorStage {
  std::string phase, allocator = "none", memory = "device";
};

// How a trace is placed. The config's "workload" section has these keys.
struct PlacementOptions {
  std::string allocator = "torch_1_0";  // `uvmsim list allocator`; "none": the framework calls the driver directly
  std::string memory = "managed";       // managed: cudaMallocManaged; device: cudaMalloc; system: malloc
  bool prefetch_on_alloc = false;       // cudaMemPrefetchAsync of each new managed segment to its GPU
  Bytes device_capacity{};              // of one GPU, for cudaMalloc; 0: unlimited
  Bytes gpu_memory{};                   // as the GPU's properties give it; pools size themselves by it; 0: not known
  std::string ipc_kinds = {};           // kinds of tensors that other processes map, separated by commas
  std::string ipc_allocator = {};       // theirs alone, of cudaMalloc memory; "": they come from `allocator`
  std::vector<AllocatorStage> stages = {};
  bool cudnn_benchmark = false;  // kernels with launch variants: the fastest when measured at run time (cudnn_choice.h)
  Duration populate_chunk{};     // by page faults, as that measurement meets it
  bool keep_tensors = false;     // fill Program::tensors and record_ops
  // Of `allocator` and `ipc_allocator`, with their parameters; nullptr: defaults.
  std::shared_ptr<const AllocatorFactory> kind = nullptr, ipc_kind = nullptr;
};

// Memory of one device after one allocation or free of the framework.
struct PoolSample {
  int device = 0;
  std::int64_t live_bytes = 0;      // asked for and not freed
  std::int64_t reserved_bytes = 0;  // held from the driver
};

// Places every allocation of `trace` and resolves every operand to an address. Pure and deterministic.
// Running out of device memory is an outcome: Program::out_of_memory.
//   history  when given, receives one sample per allocation and free, in order
Program place(const trace::Trace& trace, const PlacementOptions& options, std::vector<PoolSample>* history = nullptr);

}  // namespace uvmsim
