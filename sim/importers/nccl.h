// NCCL's kernels and calls: which collective of a trace one is, and how many bytes it has.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/record.h"

namespace uvmsim {

// Whether a kernel of this name is NCCL's (or RCCL's), of any version: "ncclKernel_AllReduce_RING_LL_Sum_float(...)",
// "ncclDevKernel_Generic(...)".
bool is_nccl_kernel(std::string_view name);

// The collective that a kernel, a call of NCCL ("ncclAllGather") or an operator of c10d ("_reduce_scatter_base",
// "all_to_allv", "nccl:send") is by its name; nullopt: one that a trace does not have (reduce, gather, scatter,
// barrier), or a kernel that runs any of them.
std::optional<trace::Collective> nccl_collective(std::string_view name);

// The bytes of the whole buffer, as a trace counts them, of a call on `message` bytes of one rank: NCCL's
// ncclAllGather and ncclReduceScatter are told the part of one rank. 0: not known, because `ranks` are not (0).
std::int64_t nccl_buffer(trace::Collective kind, std::int64_t message, std::int64_t ranks);

// What an import says of NCCL's kernels.
inline constexpr std::string_view kNcclStaysKernel =
    "kernels of NCCL: of how many bytes is not said, so they stay kernels that take their recorded time";
inline constexpr std::string_view kNcclTouchesNothing = "collectives: their operands are not known; they touch nothing";

}  // namespace uvmsim
