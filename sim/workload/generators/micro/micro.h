// What the micro workloads share: small programs of one or a few kernels, as the published UVM measurements
// use them. Memory is allocated and, if asked, initialised by the host before the first iteration; at the
// end the host may read the result back. Nothing is freed: the process ends.
#pragma once

#include <initializer_list>
#include <string>

#include "base/describe.h"
#include "workload/generator.h"
#include "workload/trace_builder.h"

namespace uvmsim::micro {

// Parameters of every micro workload with kernels.
struct CommonParameters {
  std::int64_t grid = 0;  // CTAs; 0: one thread per element
  int block = 0;          // threads per CTA; 0: the workload's natural block
  bool cpu_init = true;
  bool read_back = false;
  Duration duration{};  // of one kernel; 0: by bandwidth
  BytesPerSecond device_bandwidth{900'000'000'000};
};

// A description that begins with the common parameters. P derives from CommonParameters.
template <class P>
Describe<P> describe(std::string doc) {
  Describe<P> d(std::move(doc));
  d.integer("grid", &P::grid, "CTAs of each kernel; 0: as many as there are elements for", {0, {}}, "CTAs")
      .integer("block", &P::block, "threads per CTA; 0: the workload's own", {0, 1024}, "threads")
      .flag("cpu_init", &P::cpu_init, "one host thread writes every array before the first kernel")
      .flag("read_back", &P::read_back, "one host thread reads the result after the last kernel")
      .duration("duration", &P::duration, "in-core time of one kernel; 0: its bytes over device_bandwidth")
      .bandwidth("device_bandwidth", &P::device_bandwidth,
                 "memory bandwidth that in-core times are computed from (default: V100-SXM2 data sheet)", {1, {}});
  return d;
}

// Holds the parameters P of a generator.
template <class P>
class MicroGenerator : public Generator {
 public:
  void* parameters() override { return &p_; }

 protected:
  P p_;
};

// A trace of one GPU with the header filled in; `name` is the generator's.
TraceBuilder start(const std::string& name);

// One host thread writes (reads) each tensor whole, in order. Reading waits for the GPU first.
void host_writes(TraceBuilder& trace, std::initializer_list<trace::TensorId> tensors);
void host_reads(TraceBuilder& trace, std::initializer_list<trace::TensorId> tensors);

// A launch of at least `threads` threads: `p.grid` and `p.block` where they are set. Its in-core time is
// p.duration, or that of `bytes_moved` at p.device_bandwidth, but at least 2 us (a launch of an empty kernel).
trace::Kernel launch(const CommonParameters& p, std::int64_t threads, std::int64_t bytes_moved,
                     std::int32_t natural_block = 256);

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace uvmsim::micro
