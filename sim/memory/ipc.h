// CUDA IPC: memory of one process that others map. It is for cudaMalloc only. CUDA C++ Programming Guide, section
// Interprocess Communication: "the IPC API is not supported for cudaMallocManaged allocations".
#pragma once

#include <optional>
#include <string>

#include "memory/allocator.h"
#include "trace/record.h"

namespace uvmsim {

// Whether tensors of that kind are for other processes.
bool shared_by_ipc(const PlacementOptions& options, const std::string& kind);

// What IPC cannot share of `trace` placed like this: its first such tensor; nullopt: nothing.
std::optional<std::string> ipc_refusal(const trace::Trace& trace, const PlacementOptions& options);

}  // namespace uvmsim
