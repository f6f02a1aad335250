#include "workload/generators/micro/micro.h"

#include <algorithm>

#include "trace/format.h"

namespace uvmsim::micro {

std::vector<std::string> wrong_element(int bytes) {
  if (bytes == 4 || bytes == 8) return {};
  return {"element_bytes is 4 or 8"};
}

std::vector<std::string> too_many_threads(int block_x, int block_y) {
  if (std::int64_t{block_x} * block_y <= trace::kMostThreads) return {};
  return {"a CTA has more than " + std::to_string(trace::kMostThreads) + " threads"};
}

TraceBuilder start(const std::string& name) {
  trace::Header header;
  header.generator = "uvmsim " + name;
  header.name = name;
  header.provenance = "generated; stands for a micro-benchmark";
  header.durations = "bytes moved over device_bandwidth, unless duration is set";
  header.durations_status = "assumed";
  header.sample_unit = "samples";
  header.samples = 1;
  return TraceBuilder(std::move(header));
}

void host_writes(TraceBuilder& trace, std::initializer_list<trace::TensorId> tensors) {
  trace.phase("host initialisation");
  for (const trace::TensorId tensor : tensors) trace.host_step({writes(tensor)});
}

void host_reads(TraceBuilder& trace, std::initializer_list<trace::TensorId> tensors) {
  trace.synchronize();
  trace.phase("host read-back");
  for (const trace::TensorId tensor : tensors) trace.host_step({reads(tensor)});
}

void prefetch_back(TraceBuilder& trace, trace::TensorId tensor) {
  trace.append(trace::Prefetch{.tensor = tensor, .destination = kHost});
  trace.synchronize();
}

std::vector<std::string> and_advices(std::vector<std::string> others) {
  others.insert(others.end(), {"read_mostly", "preferred_gpu", "accessed_by_gpu", "preferred_cpu", "accessed_by_cpu"});
  return others;
}

void advise(TraceBuilder& trace, const std::string& advice, std::initializer_list<trace::TensorId> tensors) {
  trace::Advise call;
  if (advice == "read_mostly") call.advice = static_cast<std::int8_t>(trace::Advice::ReadMostly);
  if (advice.starts_with("preferred")) call.advice = static_cast<std::int8_t>(trace::Advice::PreferredLocation);
  if (advice.starts_with("accessed_by")) call.advice = static_cast<std::int8_t>(trace::Advice::AccessedBy);
  if (call.advice == 0) return;
  call.device = advice.ends_with("cpu") ? kHost : kGpu;
  for (const trace::TensorId tensor : tensors) {
    call.tensor = tensor;
    trace.append(call);
  }
}

trace::Kernel timed(const TimeParameters& p, std::int64_t grid, std::int32_t block, std::int64_t bytes_moved) {
  constexpr Duration kEmptyKernel = microseconds(2);
  trace::Kernel kernel;
  kernel.grid = grid;
  kernel.block = block;
  const Duration in_core = p.duration.count() > 0
                               ? p.duration
                               : std::max(kEmptyKernel, computed(static_cast<double>(bytes_moved) /
                                                                 static_cast<double>(p.device_bandwidth.value)));
  kernel.duration_ns = in_core.count() / 1000;
  return kernel;
}

std::int64_t rounds_ns(Duration each, std::int64_t rounds) {
  Duration::rep all = 0;
  if (__builtin_mul_overflow(each.count(), rounds, &all)) all = kNever.count();
  return all / 1000;
}

trace::Access reads_places(TraceBuilder& trace, trace::TensorId tensor, const Places& places) {
  if (places.at_once) {
    const std::int32_t strided = trace.options({.width = kPlaceBytes, .stride = places.stride});
    return at(reads(tensor, trace::Pattern::Strided, strided), places.first,
              (places.count - 1) * places.stride + kPlaceBytes);
  }
  trace::PatternOptions in_turn{.width = 1};
  for (std::int64_t i = 0; i < places.count; ++i) in_turn.order.push_back(places.first + i * places.stride);
  return reads(tensor, trace::Pattern::Order, trace.options(std::move(in_turn)));
}

trace::Kernel kernel_over(const Places& places) {
  trace::Kernel kernel;
  kernel.grid = 1;
  kernel.block = places.at_once ? static_cast<std::int32_t>(places.count) : 1;
  kernel.duration_ns = rounds_ns(nanoseconds(500), places.at_once ? 1 : places.count);
  return kernel;
}

Duration computed(double seconds) { return from_seconds(std::min(seconds, uvmsim::seconds(kNever))); }

trace::Kernel launch(const LaunchParameters& p, std::int64_t elements, std::int64_t bytes_moved) {
  const std::int32_t block = p.block > 0 ? p.block : 256;
  const std::int64_t grid = p.grid > 0 ? p.grid : std::max<std::int64_t>(1, divide_up(elements, block));
  return timed(p, grid, block, bytes_moved);
}

}  // namespace uvmsim::micro
