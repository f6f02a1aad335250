// The lines of uvmcap and uvmcap-torch files (capture/FORMAT.md), as values.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "importers/import_builder.h"
#include "importers/import_file.h"
#include "trace/error_list.h"

namespace uvmsim {

// What the host did, of either file. Times on the wall clock, in ns.
struct CaptureEvent {
  enum class Kind : std::uint8_t {
    Allocate,
    Free,
    Launch,
    Copy,
    Set,
    Prefetch,
    Discard,
    Advise,
    Synchronize,
    Record,
    Wait,
    Graph,
    Mark,
    // of PyTorch
    Tensor,
    Workspace,
    Gone,
    Operator,
    Layer,
    Phase,
    Iteration
  };
  enum class Of : std::uint8_t { Device, Stream, Event };  // of a Synchronize
  Kind kind = Kind::Mark;
  Of of = Of::Device;
  std::int8_t advice = 0, space = -1;  // a trace::Space
  bool old = false;                    // of a Tensor
  std::int32_t name = -1;              // into strings
  std::int64_t time = 0, end = 0;      // of a Tensor: when it was made, and when it was seen
  std::int64_t call = -1;              // correlation id; of an Operator, Tensor or Workspace (below 0): its id
  std::int64_t op = -1;                // the operator around a call
  std::int64_t stream = 0, device = 0, to = 0, event = 0;
  std::uint64_t address = 0, source = 0;
  std::int64_t bytes = 0;
  std::uint32_t first = 0, count = 0;  // of a Launch: into pointers; of an Operator: into ranges
  bool knows_pointers = false;
};

// What the GPU did for a call.
struct CaptureWork {
  enum class Kind : std::uint8_t { Kernel, Copy, Set };
  Kind kind = Kind::Kernel;
  trace::CopyDirection direction = trace::CopyDirection::Memset;
  bool pinned = true, asynchronous = true;
  std::int32_t name = -1;
  std::int64_t start = 0, duration = 0, device = 0, stream = 0, peer = -1, bytes = 0;
  Extents grid = {};
  std::int64_t block = 0, registers = 0, shared_memory = 0;
};

struct CaptureRange {
  std::int64_t tensor = 0, offset = 0, length = 0;
  trace::Mode mode = trace::Mode::Read;
};

struct Capture {
  std::vector<std::string> strings;
  std::vector<CaptureEvent> events;  // in the order of the file; workspaces at its end
  std::vector<std::uint64_t> pointers;
  std::vector<CaptureRange> ranges;
  std::unordered_map<std::int64_t, std::vector<CaptureWork>> work;  // by correlation id; looked up, never walked
  std::vector<std::int64_t> calls_with_work;                        // its keys, as they came
  std::unordered_map<std::int64_t, TensorKind> kinds;               // of PyTorch's tensors
  std::vector<std::pair<std::int64_t, trace::DeviceInfo>> devices;
  std::int64_t wall_offset = 0;  // from the CUPTI clock to the wall clock
  std::string program;           // what ran, or PyTorch's version
  bool injected = false;         // PyTorch: the kernels are in a uvmcap file
};

// Reads a uvmcap file (`torch` false) or a uvmcap-torch file. Notes, losses and what was cut off become unknowns of
// `into`; a recording that failed, and lines that do not hold together, become errors.
Capture read_capture(const ImportFile& file, bool torch, ImportBuilder& into, trace::ErrorList& errors);

}  // namespace uvmsim
