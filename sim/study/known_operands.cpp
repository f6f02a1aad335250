#include "study/known_operands.h"

#include "trace/faulty_durations.h"
#include "workload/iterations.h"

namespace uvmsim {
namespace {

// How the program that recorded the trace records operands, too.
std::string remedy_of(const trace::Header& header) {
  if (header.generator.ends_with("import kineto"))
    return "record with torch.profiler(record_shapes=True, profile_memory=True) and an ExecutionTraceObserver, or "
           "trace "
           "the script itself: uvmsim trace torch";
  if (header.generator.ends_with("import nsight"))
    return "record with nsys profile --cuda-memory-usage=true --cuda-um-gpu-page-faults=true, or with capture/";
  return "sim/importers/IMPORTING.md says what each format records";
}

}  // namespace

std::optional<KnownOperands> known_operands(const trace::Trace& trace) {
  const trace::Header& header = trace.header;
  if (header.operands_status.empty()) return std::nullopt;
  KnownOperands known{.status = header.operands_status};
  // What stands before the first iteration is simulated, too, but not measured.
  const std::size_t first = has_iterations(trace) ? next_iteration(trace, 0) : 0;
  for (std::size_t i = first; i < trace.records.size(); ++i) {
    const auto* kernel = std::get_if<trace::Kernel>(&trace.records[i]);
    if (kernel == nullptr) continue;
    const double seconds = static_cast<double>(kernel->duration_ns) * 1e-9;
    ++known.kernels;
    known.kernel_s += seconds;
    if (kernel->accesses.count == 0) continue;
    ++known.known_kernels;
    known.known_s += seconds;
  }
  known.enough = known.known_s >= kEnoughOperands * known.kernel_s;
  known.faulty_durations = header.durations.find(trace::kFaultyDurations) != std::string::npos;
  if (!known.enough || known.faulty_durations) known.remedy = remedy_of(header);
  return known;
}

}  // namespace uvmsim
