#include "workload/generators/micro/micro.h"

#include <algorithm>

namespace uvmsim::micro {

TraceBuilder start(const std::string& name) {
  trace::Header header;
  header.generator = "uvmsim " + name;
  header.name = name;
  header.provenance = "generated; stands for a micro-benchmark";
  header.durations = "bytes moved over device_bandwidth, unless duration is set";
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

trace::Kernel launch(const CommonParameters& p, std::int64_t threads, std::int64_t bytes_moved,
                     std::int32_t natural_block) {
  constexpr Duration kEmptyKernel = microseconds(2);
  trace::Kernel kernel;
  kernel.block = p.block > 0 ? p.block : natural_block;
  kernel.grid = p.grid > 0 ? p.grid : std::max<std::int64_t>(1, divide_up(threads, kernel.block));
  const Duration in_core = p.duration.count() > 0
                               ? p.duration
                               : std::max(kEmptyKernel, transfer_time(Bytes{bytes_moved}, p.device_bandwidth));
  kernel.duration_ns = in_core.count() / 1000;
  return kernel;
}

}  // namespace uvmsim::micro
