#include "workload/generators/rapids/recorder.h"

#include <algorithm>

namespace uvmsim::rapids {
namespace {

constexpr std::int64_t kSector = 32;        // the smallest unit that the memory system moves
constexpr std::int32_t kThreads = 256;      // per CTA of libcudf's kernels, one row each
constexpr double kShortestKernel = 2.5e-6;  // s; assumed, as for other generators
constexpr std::int64_t kNanoseconds = 1'000'000'000;

}  // namespace

std::int64_t DataParameters::rows_per_part() const {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(part_bytes.value) / row_bytes));
}

std::int64_t Use::traffic() const {
  const std::int64_t once = touches > 0 ? touches * kSector : bytes;
  return mode == trace::Mode::ReadWrite ? 2 * once : once;
}

Use read(const BufferRef& buffer) { return read(buffer, buffer->bytes()); }
Use write(const BufferRef& buffer) { return write(buffer, buffer->bytes()); }
Use read(const BufferRef& buffer, std::int64_t bytes) { return {buffer.get(), trace::Mode::Read, bytes, 0}; }
Use write(const BufferRef& buffer, std::int64_t bytes) { return {buffer.get(), trace::Mode::Write, bytes, 0}; }
Use read_anywhere(const BufferRef& buffer, std::int64_t touches) {
  return {buffer.get(), trace::Mode::Read, buffer->bytes(), touches};
}
Use update_anywhere(const BufferRef& buffer, std::int64_t touches) {
  return {buffer.get(), trace::Mode::ReadWrite, buffer->bytes(), touches};
}

Recorder::Recorder(const Rates& rates, TraceBuilder& trace) : rates_(rates), trace_(trace) {
  trace_.header().host_op_ns = rates.call.count() / 1000;
}

void Recorder::kernel(std::string_view name, const std::vector<Use>& uses) {
  std::vector<trace::Access> accesses;
  std::int64_t swept = 0, scattered = 0, most_touches = 0;
  for (const Use& use : uses) {
    (use.touches > 0 ? scattered : swept) += use.traffic();
    most_touches = std::max(most_touches, use.touches);
    trace::Access access{.tensor = use.buffer->tensor(),
                         .mode = use.mode,
                         .offset = use.offset,
                         .length = use.bytes == use.buffer->bytes() ? -1 : use.bytes};
    if (use.touches > 0) {
      access.pattern = trace::Pattern::Random;
      access.options = trace_.options({.width = kSector, .count = use.touches});
    }
    accesses.push_back(access);
  }
  const double bytes = static_cast<double>(swept) / rates_.sequential_efficiency +
                       static_cast<double>(scattered) / rates_.random_efficiency;
  const double seconds = std::max(kShortestKernel, bytes / static_cast<double>(rates_.device_bandwidth.value));
  trace::Kernel kernel;
  kernel.duration_ns = static_cast<std::int64_t>(seconds * kNanoseconds);
  if (most_touches > 0) {
    kernel.block = kThreads;
    kernel.grid = (most_touches + kThreads - 1) / kThreads;
  }
  trace_.kernel(name, kernel, accesses);
}

void Recorder::upload(const BufferRef& to, std::int64_t bytes) {
  trace_.copy({.direction = trace::CopyDirection::HostToDevice,
               .bytes = bytes < 0 ? to->bytes() : bytes,
               .pinned = false,
               .asynchronous = false},
              {at(writes(to->tensor()), 0, bytes)});
}

void Recorder::download(const BufferRef& from) {
  trace_.copy(
      {.direction = trace::CopyDirection::DeviceToHost, .bytes = from->bytes(), .pinned = false, .asynchronous = false},
      {reads(from->tensor())});
}

void Recorder::host(std::int64_t bytes) {
  trace_.append(trace::HostStep{.duration_ns = transfer_time(Bytes{bytes}, rates_.host_bandwidth).count() / 1000});
}

trace::Header header_of(const std::string& generator, std::int64_t rows) {
  trace::Header header;
  header.generator = "uvmsim " + generator;
  header.name = generator;
  header.provenance = "generated: the notebook mortgage/E2E.ipynb re-enacted on sizes";
  header.durations = "bytes over device_bandwidth at assumed efficiencies; host steps at an assumed bandwidth";
  header.durations_status = "assumed";
  header.sample_unit = "rows";
  header.samples = static_cast<double>(rows);
  return header;
}

}  // namespace uvmsim::rapids
