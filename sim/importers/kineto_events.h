// The events of a Kineto trace (torch.profiler's Chrome JSON) that matter to a workload.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "importers/host_ranges.h"
#include "importers/import_builder.h"
#include "importers/import_file.h"
#include "trace/error_list.h"
#include "trace/format.h"
#include "trace/record.h"

namespace uvmsim {

// What the file says of an operation of NCCL.
struct KinetoCollective {
  trace::Collective kind = trace::Collective::AllReduce;
  std::int64_t in = 0, out = 0;  // bytes; the larger one is the whole buffer
  std::int64_t ranks = 0;        // 0: not said
  std::int32_t communicator = 0;
};

// An annotation "nccl:all_reduce" of a host thread, which encloses the launch.
struct KinetoNcclCall {
  std::int64_t thread = 0, start = 0, end = 0;
  std::int32_t collective = -1;  // into collectives
};

// Times in ns. Ids are -1 when the file does not give them.
struct KinetoGpuOp {
  enum class Kind : std::uint8_t { Kernel, Copy, Set };
  Kind kind = Kind::Kernel;
  trace::CopyDirection direction = trace::CopyDirection::Memset;  // of a Copy or Set
  bool pinned = true;
  std::int32_t name = 0;         // into names
  std::int32_t collective = -1;  // into collectives
  std::int64_t start = 0, duration = 0;
  std::int64_t correlation = -1, external = -1;
  std::int64_t device = 0, stream = 0, peer = -1, bytes = 0;
  Extents grid = {};
  std::int64_t block = 0, registers = 0, shared_memory = 0;
};

// A call of the CUDA runtime or driver.
struct KinetoCall {
  enum class Kind : std::uint8_t { Launch, Synchronize, StreamSynchronize, EventSynchronize, StreamWait, Other };
  Kind kind = Kind::Other;
  bool graph = false;    // launches a CUDA graph
  std::int32_t op = -1;  // the innermost operator that made it, into ops
  std::int64_t start = 0, end = 0, thread = 0, correlation = -1;
};

struct KinetoOp {
  std::int64_t start = 0, end = 0, thread = 0, external = -1, function = -1;  // "Record function id"
  std::uint32_t first_input = 0, inputs = 0;                                  // into input_bytes
  std::int32_t name = 0;                                                      // into names
};

struct KinetoMemory {
  std::int64_t time = 0, thread = 0, address = 0, bytes = 0, device = 0;  // bytes < 0: a free
  std::int64_t total = -1;                                                // allocated afterwards, all in all
};

struct KinetoEvents {
  std::vector<std::string> names;
  std::vector<KinetoGpuOp> gpu_ops;
  std::vector<KinetoCall> calls;
  std::vector<KinetoOp> ops;              // by thread and start; of two that start together the outer one first
  std::vector<std::int64_t> input_bytes;  // of the tensors among an op's inputs
  std::vector<KinetoMemory> memory;       // of GPUs
  std::vector<KinetoCollective> collectives;
  std::vector<KinetoNcclCall> nccl_calls;  // by thread and start
  HostRanges ranges;                       // of iterations (ProfilerStep#n), phases and layers
  std::unordered_map<std::int64_t, trace::DeviceInfo> devices;
  std::unordered_map<std::int64_t, std::int64_t> wait_streams;  // of a synchronisation's correlation
};

KinetoEvents read_kineto(const ImportFile& file, trace::ErrorList& errors);

}  // namespace uvmsim
