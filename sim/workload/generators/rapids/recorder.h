// Records what a RAPIDS worker does: reference-counted allocations, kernels, copies, time of its host thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/describe.h"
#include "workload/generator.h"
#include "workload/trace_builder.h"

namespace uvmsim::rapids {

// What shapes time. Only the data sheet's bandwidth is more than a guess: calibrate totals before trusting them.
struct Rates {
  BytesPerSecond device_bandwidth{900'000'000'000};
  double sequential_efficiency = 0.85, random_efficiency = 0.5;
  BytesPerSecond host_bandwidth{2'000'000'000};
  Duration call = microseconds(100);
};

// The performance data of one worker, as files.
struct DataParameters : Rates {
  Bytes part_bytes{2'000'000'000};
  int parts = 1;
  double row_bytes = 105;

  std::int64_t rows_per_part() const;  // at least 1
};

// A description that begins with these parameters. P derives from them.
template <class P>
Describe<P> describe_data(std::string doc) {
  Describe<P> d(std::move(doc));
  d.bytes("part_bytes", &P::part_bytes, "size of one CSV file of performance data", {1, 1e13})
      .integer("parts", &P::parts, "files of one worker", {1, 10'000}, "files")
      .number("row_bytes", &P::row_bytes, "bytes of a line of performance data (assumed)", {1, 1e4})
      .bandwidth("device_bandwidth", &P::device_bandwidth,
                 "memory bandwidth that in-core times are computed from (default: V100-SXM2 data sheet)", {1, {}})
      .number("sequential_efficiency", &P::sequential_efficiency,
              "share of it that kernels reach when they sweep their operands (assumed)", {0.001, 1})
      .duration("call", &P::call, "host time of one library call: Python, cffi, launch (assumed)");
  return d;
}
// The same for what touches random places, and for what the host thread works on.
template <class P>
void describe_random(Describe<P>& d) {
  d.number("random_efficiency", &P::random_efficiency,
           "share of the bandwidth that random touches of 32-byte sectors reach: hash tables, gathers (assumed)",
           {0.001, 1});
}
template <class P>
void describe_host(Describe<P>& d) {
  d.bandwidth("host_bandwidth", &P::host_bandwidth,
              "at which the host thread reads files and builds Arrow columns (assumed)", {1, {}});
}

// Columns of the table that the ETL ends with, the label among them. A test holds it to that.
inline constexpr int kTableColumns = 46;

// An allocation of the trace. It is freed when the last reference to it goes.
class Buffer {
 public:
  Buffer(TraceBuilder& trace, std::int64_t bytes, TensorKind kind)
      : trace_(trace), tensor_(trace.allocate(Bytes{bytes}, kind)), bytes_(bytes) {}
  ~Buffer() { trace_.free(tensor_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  trace::TensorId tensor() const { return tensor_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  TraceBuilder& trace_;
  trace::TensorId tensor_;
  std::int64_t bytes_;
};
using BufferRef = std::shared_ptr<Buffer>;

// One operand of a kernel.
struct Use {
  const Buffer* buffer = nullptr;
  trace::Mode mode = trace::Mode::Read;
  std::int64_t bytes = 0;    // from `offset`
  std::int64_t touches = 0;  // of single places anywhere in these bytes; 0: one sweep over them
  std::int64_t offset = 0;

  std::int64_t traffic() const;  // bytes of device memory moved
};
Use read(const BufferRef& buffer);
Use write(const BufferRef& buffer);
// The first `bytes` bytes.
Use read(const BufferRef& buffer, std::int64_t bytes);
Use write(const BufferRef& buffer, std::int64_t bytes);
// `touches` touches of places anywhere: a hash table, the source of a gather.
Use read_anywhere(const BufferRef& buffer, std::int64_t touches);
Use update_anywhere(const BufferRef& buffer, std::int64_t touches);

class Recorder {
 public:
  // `rates` and `trace` must outlive it. Sets the trace's host time per call.
  Recorder(const Rates& rates, TraceBuilder& trace);

  BufferRef allocate(std::int64_t bytes, TensorKind kind) { return std::make_shared<Buffer>(trace_, bytes, kind); }
  // Takes as long as its traffic at the bandwidths that the rates give, but at least 2.5 us.
  void kernel(std::string_view name, const std::vector<Use>& uses);
  // Synchronous copies from and to pageable host memory; -1: of the whole buffer.
  void upload(const BufferRef& to, std::int64_t bytes = -1);
  void download(const BufferRef& from);
  // The host thread reads a file or builds columns: `bytes` at the host's rate.
  void host(std::int64_t bytes);

  TraceBuilder& trace() { return trace_; }

 private:
  const Rates& rates_;
  TraceBuilder& trace_;
};

// The header of the trace of one worker. An iteration handles `rows` rows.
trace::Header header_of(const std::string& generator, std::int64_t rows);

}  // namespace uvmsim::rapids
