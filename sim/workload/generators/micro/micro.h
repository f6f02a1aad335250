// What the micro workloads share: small programs of one or a few kernels, as the published UVM measurements
// use them. Memory is allocated and, if asked, initialised by the host before the first iteration; at the
// end the host may read the result back. Nothing is freed: the process ends.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "base/describe.h"
#include "workload/generator.h"
#include "workload/trace_builder.h"

namespace uvmsim::micro {

// What the host does before the first kernel and after the last one.
struct HostParameters {
  bool cpu_init = true;
  bool read_back = false;
};

// How long one kernel takes when its operands are resident.
struct TimeParameters : HostParameters {
  Duration duration{};  // 0: by bandwidth
  BytesPerSecond device_bandwidth{900'000'000'000};
};

// The shape of a launch.
struct LaunchParameters : TimeParameters {
  std::int64_t grid = 0;  // CTAs; 0: one thread per element
  int block = 0;          // threads per CTA; 0: the workload's natural block
};

// Descriptions that begin with these parameters. P derives from them.
template <class P>
Describe<P> describe_host(std::string doc) {
  Describe<P> d(std::move(doc));
  d.flag("cpu_init", &P::cpu_init, "one host thread writes every array before the first kernel")
      .flag("read_back", &P::read_back, "one host thread reads the result after the last kernel");
  return d;
}
template <class P>
Describe<P> describe_time(std::string doc) {
  Describe<P> d = describe_host<P>(std::move(doc));
  d.duration("duration", &P::duration, "in-core time of one kernel; 0: its bytes over device_bandwidth")
      .bandwidth("device_bandwidth", &P::device_bandwidth,
                 "memory bandwidth that in-core times are computed from (default: V100-SXM2 data sheet)", {1, {}});
  return d;
}
template <class P>
Describe<P> describe_launch(std::string doc) {
  Describe<P> d = describe_time<P>(std::move(doc));
  d.integer("grid", &P::grid, "CTAs of each kernel; 0: as many as there are elements for", {0, 0x1p40}, "CTAs")
      .integer("block", &P::block, "threads per CTA; 0: the workload's own", {0, 1024}, "threads");
  return d;
}

// Generators whose numbers may be floats or doubles have this parameter, `element_bytes`.
inline constexpr const char* kElementBytesDoc = "of a number: 4 or 8";
std::vector<std::string> wrong_element(int bytes);
// The same of two-dimensional CTAs that have more threads than a CTA may.
std::vector<std::string> too_many_threads(int block_x, int block_y);

// Holds the parameters P of a generator.
template <class P>
class MicroGenerator : public Generator {
 public:
  DescribedObject parameters() override { return {&description(), &p_}; }

 protected:
  virtual const Description& description() const = 0;

  P p_;
};

// A trace of one GPU with the header filled in; `name` is the generator's.
TraceBuilder start(const std::string& name);

// Where prefetches and advice may send memory.
inline constexpr std::int8_t kHost = -1, kGpu = 0;

// One host thread writes (reads) each tensor whole, in order. Reading waits for the GPU first.
void host_writes(TraceBuilder& trace, std::initializer_list<trace::TensorId> tensors);
void host_reads(TraceBuilder& trace, std::initializer_list<trace::TensorId> tensors);

// Workloads that may be found on the host again have this parameter, `prefetch_back`: GPU memory and mappings for DMA
// are there in later iterations.
inline constexpr const char* kPrefetchBackDoc =
    "the memory is prefetched to the host before each iteration but the first";
void prefetch_back(TraceBuilder& trace, trace::TensorId tensor);

// `others`, and what a program may tell the driver of its memory: "read_mostly", or "preferred_" or "accessed_by_" and
// "gpu" or "cpu".
std::vector<std::string> and_advices(std::vector<std::string> others);

// cudaMemAdvise of each tensor; what is none of those says nothing.
void advise(TraceBuilder& trace, const std::string& advice, std::initializer_list<trace::TensorId> tensors);

// A kernel of `grid` CTAs of `block` threads. Its in-core time is p.duration, or that of `bytes_moved` at
// p.device_bandwidth, but at least 2 us (a launch of an empty kernel).
trace::Kernel timed(const TimeParameters& p, std::int64_t grid, std::int32_t block, std::int64_t bytes_moved);

// The same with p.grid and p.block where they are set: else one thread per element, in CTAs of 256.
trace::Kernel launch(const LaunchParameters& p, std::int64_t elements, std::int64_t bytes_moved);

inline constexpr std::int64_t kPlaceBytes = 4;  // that a thread of several reads
// Places of a tensor that a kernel reads, `stride` bytes apart: by one thread in turn, which takes half a microsecond
// for each where nothing is missing, or at once, each by a thread of a CTA.
struct Places {
  std::int64_t first = 0, stride = 0, count = 0;
  bool at_once = false;
};
trace::Access reads_places(TraceBuilder& trace, trace::TensorId tensor, const Places& places);
trace::Kernel kernel_over(const Places& places);

// The most that a parameter may be which counts elements of an array, and rows or columns of a square: 4 TiB of floats.
inline constexpr double kMostElements = 0x1p40, kMostSide = 0x1p20;

// Rounds of `each`, one after the other, as a trace has it: in ns. What is longer than simulated time is kNever: more
// than a trace may have.
std::int64_t rounds_ns(Duration each, std::int64_t rounds);

// A time that was computed; what is longer than simulated time is kNever.
Duration computed(double seconds);

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace uvmsim::micro
