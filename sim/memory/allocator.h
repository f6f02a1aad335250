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
  // A new segment, 2 MiB-aligned; nullopt when device memory is exhausted (never for managed memory).
  virtual std::optional<VirtualAddress> allocate(Bytes size) = 0;
  virtual void free(VirtualAddress segment) = 0;
};

// Framework-level placement. One instance per process and device.
class Allocator {
 public:
  virtual ~Allocator() = default;
  // The address of `size` bytes for `stream`; nullopt: out of memory.
  virtual std::optional<VirtualAddress> allocate(Bytes size, int stream) = 0;
  virtual void free(VirtualAddress address) = 0;
  virtual std::int64_t reserved_bytes() const = 0;
  virtual std::int64_t cache_flushes() const { return 0; }
};

using AllocatorRegistry = Registry<std::unique_ptr<Allocator>(UpstreamMemory&)>;
AllocatorRegistry& allocators();

// How a trace is placed. The config's "workload" section has these keys.
struct PlacementOptions {
  std::string allocator = "torch_1_0";  // `uvmsim list allocator`; "none": the framework calls the driver directly
  std::string memory = "managed";       // managed: cudaMallocManaged; device: cudaMalloc
  bool prefetch_on_alloc = false;       // cudaMemPrefetchAsync of each new managed segment to its GPU
  Bytes device_capacity{};              // of one GPU, for cudaMalloc; 0: unlimited
};

// Places every allocation of `trace` and resolves every operand to an address. Pure and deterministic.
// Running out of device memory is an outcome: Program::out_of_memory.
Program place(const trace::Trace& trace, const PlacementOptions& options);

}  // namespace uvmsim
