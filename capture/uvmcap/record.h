#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// What libuvmcap.so records, as plain structs: nothing of CUPTI or CUDA is in here, so that everything but the
// adapter builds and is tested without a toolkit. capture/FORMAT.md says how each becomes a line.
// Times are in nanoseconds on the CUPTI clock; addresses are virtual; sizes are in bytes; a device of -1 is the host.
namespace uvmcap {

// What all host lines share.
struct Call {
  std::uint64_t time = 0;         // when the call began
  std::uint32_t thread = 0;       // 0: the first thread seen
  std::uint32_t correlation = 0;  // joins the GPU's records
  std::uint32_t device = 0;       // of the current context
  std::uint64_t external = 0;     // on top of the thread's stack of external ids; 0: none
  int result = 0;                 // CUresult of a call that had returned when it was recorded
};

enum class Memory { kDevice, kManaged, kPinned, kRegistered, kPool, kMapped };

struct Allocation {
  Call call;
  Memory memory = Memory::kDevice;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::optional<std::uint32_t> stream;  // of kPool
};

struct Release {
  Call call;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;              // of an unmapped range, else 0: the whole allocation
  std::optional<std::uint32_t> stream;  // of cuMemFreeAsync
};

struct Launch {
  Call call;
  std::uint32_t stream = 0;
  std::optional<std::vector<std::uint64_t>> pointers;  // nullopt: the arguments could not be read
};

struct Copy {
  Call call;
  std::uint32_t stream = 0;
  std::uint64_t destination = 0;
  std::uint64_t source = 0;
  std::uint64_t bytes = 0;
};

struct Set {
  Call call;
  std::uint32_t stream = 0;
  std::uint64_t destination = 0;
  std::uint64_t bytes = 0;
};

struct Prefetch {
  Call call;
  std::uint32_t stream = 0;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  int device = 0;
};

struct Discard {
  Call call;
  std::uint32_t stream = 0;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::optional<int> prefetch_to;
};

// The driver's CUmem_advise, whose numbers these are.
enum class Advice {
  kSetReadMostly = 1,
  kUnsetReadMostly,
  kSetPreferredLocation,
  kUnsetPreferredLocation,
  kSetAccessedBy,
  kUnsetAccessedBy
};

struct Advise {
  Call call;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  Advice advice = Advice::kSetReadMostly;
  int device = 0;
};

struct Synchronize {
  enum class Of { kStream, kEvent, kDevice };
  Call call;
  std::uint64_t end = 0;
  Of of = Of::kDevice;
  std::uint64_t what = 0;  // stream id or event handle
};

struct EventRecord {
  Call call;
  std::uint64_t event = 0;
  std::uint32_t stream = 0;
};

struct EventWait {
  Call call;
  std::uint64_t event = 0;
  std::uint32_t stream = 0;
};

struct GraphLaunch {
  Call call;
  std::uint32_t stream = 0;
};

struct Mark {
  std::uint64_t time = 0;
  std::uint32_t thread = 0;
  std::string text;
};

// The GPU's side. Fields are as in CUPTI's activity records; enums keep CUPTI's numbers.

struct KernelRun {
  std::uint32_t correlation = 0;
  std::string name;
  std::uint32_t device = 0;
  std::uint32_t stream = 0;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::int32_t grid[3] = {0, 0, 0};
  std::int32_t block[3] = {0, 0, 0};
  std::uint32_t registers = 0;    // per thread
  std::int64_t shared_bytes = 0;  // static and dynamic, per block
  std::uint64_t graph_node = 0;   // 0: not of a graph
};

struct CopyRun {
  std::uint32_t correlation = 0;
  std::uint32_t device = 0;
  std::uint32_t stream = 0;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t bytes = 0;
  unsigned kind = 0;         // CUpti_ActivityMemcpyKind
  unsigned source = 0;       // CUpti_ActivityMemoryKind
  unsigned destination = 0;  // CUpti_ActivityMemoryKind
  bool async = false;
  std::optional<std::uint32_t> peer;  // the destination's device of a peer copy
};

struct SetRun {
  std::uint32_t correlation = 0;
  std::uint32_t device = 0;
  std::uint32_t stream = 0;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t bytes = 0;
  unsigned memory = 0;  // CUpti_ActivityMemoryKind
};

// CUpti_ActivityUnifiedMemoryCounter2; in newer records these are the first 64 bytes.
struct UnifiedMemoryEvent {
  unsigned kind = 0;  // CUpti_ActivityUnifiedMemoryCounterKind
  std::uint64_t value = 0;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t address = 0;
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint32_t flags = 0;  // access type or cause, by kind
};

// About the file.

struct Header {
  std::string library_version;
  std::int64_t pid = 0;
  std::string executable;
  std::vector<std::string> arguments;
  std::uint64_t clock = 0;  // the CUPTI clock ...
  std::uint64_t wall = 0;   // ... and the wall clock at one moment
  std::uint32_t cupti = 0;
  std::uint32_t cupti_built = 0;
  bool layouts_verified = false;
  std::vector<std::string> kinds;
};

struct DeviceInfo {
  std::uint32_t device = 0;
  std::string name;
  std::uint64_t memory_bytes = 0;
  std::uint64_t bytes_per_second = 0;
  std::uint32_t multiprocessors = 0;
  std::uint64_t clock_hz = 0;
  std::uint64_t l2_bytes = 0;
  std::uint32_t capability_major = 0;
  std::uint32_t capability_minor = 0;
};

struct StreamInfo {
  std::uint32_t stream = 0;
  std::uint32_t context = 0;
  std::uint32_t device = 0;
  bool is_default = false;
};

struct Note {
  std::string text;
};

struct Failure {
  std::string text;
  int code = 0;
  std::string holder;
};

struct Dropped {
  std::uint64_t records = 0;
};

struct Limit {};

struct End {
  std::uint64_t time = 0;
  std::uint64_t host = 0;
  std::uint64_t gpu = 0;
  std::uint64_t dropped = 0;
};

}  // namespace uvmcap
