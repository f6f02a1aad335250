#include "memory/ipc.h"

#include "base/quantity.h"
#include "memory/pools.h"

namespace uvmsim {

bool shared_by_ipc(const PlacementOptions& options, const std::string& kind) {
  return ("," + options.ipc_kinds + ",").find("," + kind + ",") != std::string::npos;
}

std::optional<std::string> ipc_refusal(const trace::Trace& trace, const PlacementOptions& options) {
  if (options.ipc_kinds.empty() || !options.ipc_allocator.empty()) return std::nullopt;
  StageAllocators stage(options);
  for (const trace::Record& record : trace.records) {
    if (const auto* phase = std::get_if<trace::Phase>(&record))
      stage.enter(trace.strings[static_cast<std::size_t>(phase->name)]);
    const auto* alloc = std::get_if<trace::Alloc>(&record);
    if (alloc == nullptr || alloc->kind >= trace.header.kinds.size()) continue;
    const std::string& kind = trace.header.kinds[alloc->kind];
    const trace::Space space = alloc->space < 0 ? stage.space() : static_cast<trace::Space>(alloc->space);
    const bool on_host = alloc->space == static_cast<std::int8_t>(trace::Space::PinnedHost) ||
                         alloc->space == static_cast<std::int8_t>(trace::Space::PageableHost);
    if (!shared_by_ipc(options, kind) || space == trace::Space::Device || on_host) continue;
    return "tensor " + std::to_string(alloc->tensor) + " (" + kind + ") of " + to_text(Bytes{alloc->bytes}) +
           " is for other processes, and CUDA IPC cannot share " +
           (space == trace::Space::Managed ? "managed memory" : "memory from malloc") +
           ": workload.ipc_allocator gives such tensors a pool of cudaMalloc memory";
  }
  return std::nullopt;
}

}  // namespace uvmsim
