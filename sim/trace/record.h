// The records of a uvmtrace v1 file, as values. sim/trace/FORMAT.md describes the bytes.
//
// Records stand in host issue order; the simulator derives time. All times are integer nanoseconds, all
// sizes bytes, all ids those of the file. A record that names a tensor id refers to a framework-level
// allocation that lives between its Alloc and its Free.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace uvmsim::trace {

using TensorId = std::int64_t;
using StringIndex = std::int32_t;  // into Trace::strings

// What a kernel does to an operand. Write means the whole range is overwritten without being read: the
// transfer that brought it in was dead.
enum class Mode : std::uint8_t { Read = 1, Write = 2, ReadWrite = 3 };

// In which order the CTAs of a kernel touch an operand.
enum class Pattern : std::uint8_t {
  Sequential,  // slices, one per CTA; CTA c of N takes slices c, c + N, ...; all sequential operands in lock-step
  Tile,        // GEMM tiles; PatternOptions::rows/columns/leading_dimension, `stride` between columns; with `width`:
               // one CTA per stripe of `width` bytes of all rows
  Random,      // `count` touches of `width` bytes, uniform
  Strided,     // place p is `width` bytes at p * stride; thread t of T takes places t, t + T, ...
  Broadcast,   // every CTA at its start: weights, statistics
  Wide,        // sequential with 8 KiB per CTA: memset and vectorised copies
  Rows,        // one CTA per row of `leading_dimension` bytes, two passes
  Stencil,     // 2-D grid of `columns` x `rows` elements, a tile per CTA of `block_x` x `block_y` threads, halo of one
  Grid2d,      // as Stencil without the halo (the written grid)
  Order,       // the byte offsets in `order`, one after the other, by one thread
  Chase,       // pointer chase: dependent touches at stride `stride`, `count` of them
  Channels,    // images of `count` planes of `stride` bytes: one CTA per channel walks its planes, image after image
  Pixels,      // the same images, in the tiles of a convolution: pixels by channels
};

// Options of a pattern; only those the pattern uses are set. Bytes and elements as named.
struct PatternOptions {
  std::int64_t rows = 0, columns = 0;  // elements
  std::int64_t leading_dimension = 0;  // bytes from one row to the next
  std::int64_t element_bytes = 4;
  std::int64_t width = 0, stride = 0;  // bytes
  std::int64_t count = 0;
  std::vector<std::int64_t> order = {};  // byte offsets
  std::int64_t chunk = 0;   // bytes: thread t of T takes chunks t, t + T, ... each from start to end; 0: place by place
  bool dependent = false;   // loaded once the operands before it are there
  std::int32_t unroll = 1;  // rounds of a loop over the grid whose loads come before the stores of any
  std::int32_t block_x = 0, block_y = 0;  // threads of a CTA in each dimension; 0: 16 x 16
  std::int32_t cta_rows = 0, cta_columns = 0;  // of the matrix that a CTA of a product makes; 0: 128 x 128
  friend bool operator==(const PatternOptions&, const PatternOptions&) = default;
};

// One operand of a kernel, copy or host step: `length` bytes at `offset` of a tensor, swept `passes` times.
struct Access {
  TensorId tensor = 0;
  Mode mode = Mode::Read;
  Pattern pattern = Pattern::Sequential;
  std::int32_t passes = 1;
  std::int32_t options = -1;  // into Trace::options; -1: none
  std::int64_t offset = 0;
  std::int64_t length = -1;  // -1: to the tensor's end
  friend bool operator==(const Access&, const Access&) = default;
};

// A run of Trace::accesses.
struct AccessSpan {
  std::uint32_t first = 0, count = 0;
  friend bool operator==(const AccessSpan&, const AccessSpan&) = default;
};

enum class Space : std::uint8_t { Managed, Device, PinnedHost, PageableHost };
enum class CopyDirection : std::uint8_t { HostToDevice, DeviceToHost, DeviceToDevice, PeerToPeer, Memset };
enum class Collective : std::uint8_t { AllReduce, ReduceScatter, AllGather, Broadcast, AllToAll, Send, Receive };
// cudaMemAdvise; the negative of a value unsets it.
enum class Advice : std::int8_t { ReadMostly = 1, PreferredLocation = 2, AccessedBy = 3 };

struct Alloc {  // "A"
  TensorId tensor = 0;
  std::int64_t bytes = 0;
  std::uint8_t kind = 0;  // into Header::kinds
  std::int8_t device = 0;
  std::int32_t stream = 0;
  std::int8_t space = -1;     // a Space; -1: as the workload says
  std::int64_t segment = -1;  // with `offset`: placement recorded by the capture
  std::int64_t offset = -1;
  std::int8_t zeros = -1;  // share of its elements that are zero once it is written, in percent; -1: not known
  friend bool operator==(const Alloc&, const Alloc&) = default;
};
struct Free {
  TensorId tensor = 0;
  friend bool operator==(const Free&, const Free&) = default;
};  // "F"
struct SegmentAlloc {
  std::int64_t segment = 0, bytes = 0;
  Space space = Space::Managed;
  std::int8_t device = 0;
  friend bool operator==(const SegmentAlloc&, const SegmentAlloc&) = default;
};  // "a"
struct SegmentFree {
  std::int64_t segment = 0;
  friend bool operator==(const SegmentFree&, const SegmentFree&) = default;
};  // "f"
// Another way to run a kernel: a convolution algorithm, say. Its workspace is device memory that only this launch
// needs, beyond the kernel's operands.
struct LaunchVariant {
  std::int64_t duration_ns = 0;  // in-core
  std::int64_t workspace = 0;    // bytes
  friend bool operator==(const LaunchVariant&, const LaunchVariant&) = default;
};
using LaunchVariants = std::vector<LaunchVariant>;

struct Kernel {  // "K"
  StringIndex name = 0;
  std::int32_t stream = 0;
  std::int64_t duration_ns = 0;  // in-core
  AccessSpan accesses = {};
  std::int8_t device = 0;
  double flops = 0;
  std::int64_t grid = 0;   // CTAs; 0: unknown, the simulator chooses
  std::int32_t block = 0;  // threads per CTA; 0: unknown
  std::int32_t registers = 0, shared_memory = 0;
  std::int64_t gap_ns = 0;     // host time before the launch, beyond the header's host_op_ns
  std::int32_t variants = -1;  // other ways to run it, into Trace::variants; -1: none
  friend bool operator==(const Kernel&, const Kernel&) = default;
};
struct Copy {  // "C"
  CopyDirection direction = CopyDirection::HostToDevice;
  std::int32_t stream = 0;
  std::int64_t bytes = 0;
  AccessSpan accesses = {};  // managed or device operands; host side has none when it is unmanaged
  std::int8_t device = 0;
  std::int8_t peer = -1;
  bool pinned = true, asynchronous = true;
  friend bool operator==(const Copy&, const Copy&) = default;
};
struct Prefetch {
  TensorId tensor = 0;
  std::int64_t offset = 0, length = -1;
  std::int8_t destination = 0;
  std::int32_t stream = 0;
  friend bool operator==(const Prefetch&, const Prefetch&) = default;
};  // "P", -1: host
struct Discard {
  TensorId tensor = 0;
  std::int64_t offset = 0, length = -1;
  std::int32_t stream = 0;
  bool lazy = false;  // leaves the mappings
  friend bool operator==(const Discard&, const Discard&) = default;
};  // "D"
struct Advise {
  TensorId tensor = 0;
  std::int64_t offset = 0, length = -1;
  std::int8_t advice = 0;
  std::int8_t device = 0;
  friend bool operator==(const Advise&, const Advise&) = default;
};                     // "V"
struct CollectiveOp {  // "X"
  Collective kind = Collective::AllReduce;
  std::int32_t communicator = 0, stream = 0;
  std::int64_t bytes = 0;
  AccessSpan accesses = {};
  std::int32_t ranks = 0;        // 0: every replica
  std::int64_t duration_ns = 0;  // as captured; 0: unknown
  std::int8_t device = 0;
  std::int8_t peer = -1;       // of a send or receive: the other device; -1: not known
  std::int32_t stride = 1;     // from one of the `ranks` to the next
  std::int32_t priority = -1;  // of those that have one, the same devices pass on one at a time, the least first
  std::int64_t droppable = 0;  // of `bytes`: not sent when others with a priority wait
  friend bool operator==(const CollectiveOp&, const CollectiveOp&) = default;
};
struct EventRecord {
  std::int32_t event = 0, stream = 0;
  friend bool operator==(const EventRecord&, const EventRecord&) = default;
};  // "E"
struct EventWait {
  std::int32_t event = 0, stream = 0;
  friend bool operator==(const EventWait&, const EventWait&) = default;
};  // "W"
struct Synchronize {
  std::int32_t stream = -1;
  friend bool operator==(const Synchronize&, const Synchronize&) = default;
};  // "Y", -1: the device
struct HostStep {
  std::int64_t duration_ns = 0;
  std::int32_t thread = 0;  // 0: the one that issues everything else
  AccessSpan accesses = {};
  std::int32_t join = 0;  // starts once this other thread has done its steps before this one; 0: waits for none
  std::int32_t left = 0;  // but for this many of the latest
  friend bool operator==(const HostStep&, const HostStep&) = default;
};  // "H"
struct Iteration {
  std::int64_t index = 0;
  friend bool operator==(const Iteration&, const Iteration&) = default;
};  // "I": a new iteration starts here
struct Phase {
  StringIndex name = 0;
  friend bool operator==(const Phase&, const Phase&) = default;
};  // "R": forward, backward, optimizer, ...
// What follows belongs to this layer of the model, up to the next Layer or Iteration; "": to none.
struct Layer {
  StringIndex name = 0;
  friend bool operator==(const Layer&, const Layer&) = default;
};  // "L"

using Record = std::variant<Alloc, Free, SegmentAlloc, SegmentFree, Kernel, Copy, Prefetch, Discard, Advise,
                            CollectiveOp, EventRecord, EventWait, Synchronize, HostStep, Iteration, Phase, Layer>;

struct DeviceInfo {
  std::string name;
  std::int64_t memory_bytes = 0;
  double fp32_flops = 0;
  double bandwidth = 0;  // bytes per second
  friend bool operator==(const DeviceInfo&, const DeviceInfo&) = default;
};

// The first line of a file.
struct Header {
  int version = 1;
  std::string generator;  // program and version that wrote it
  std::string name;
  std::string provenance;  // where the records come from: captured on what, or generated how
  std::string durations;   // where kernel durations come from: measured, roofline x 1.23, ...
  // How far to trust the durations: measured, scaled (to a measured iteration, or to another GPU), fitted or assumed;
  // "": not stated.
  std::string durations_status;
  // How far to trust which operands a kernel has: exact, superset (all it could reach), lower_bound (what was seen to
  // be touched), heuristic (matched by size and time) or none; "": not stated.
  std::string operands_status;
  std::vector<std::string> unknowns;  // what the source does not say, or was left out, one sentence each
  std::string sample_unit;            // what `samples` counts: "samples", "tokens", ...
  double samples = 0;                 // per iteration and device; 0: unknown
  std::vector<DeviceInfo> devices;
  std::vector<std::string> kinds;  // names of Alloc::kind
  std::int64_t host_op_ns = 0;     // host time of one asynchronous call
  friend bool operator==(const Header&, const Header&) = default;
};

// A whole trace in memory. Accesses and their options are stored once, in flat arrays.
struct Trace {
  Header header;
  std::vector<std::string> strings;
  std::vector<PatternOptions> options;
  std::vector<LaunchVariants> variants;  // by Kernel::variants
  std::vector<Access> accesses;
  std::vector<Record> records;
  // What the reader did not know and left out, by tag and by "tag.key": files of later versions stay readable.
  std::map<std::string, std::int64_t> ignored_tags, ignored_keys;
};

}  // namespace uvmsim::trace
