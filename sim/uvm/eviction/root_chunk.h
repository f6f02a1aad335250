// Names of GPU memory chunks and of the lists the driver keeps them on.
#pragma once

#include <cstdint>

namespace uvmsim {

// A root chunk of one GPU: 2 MiB, or what driver.eviction_granularity says.
using RootChunkIndex = std::uint32_t;
inline constexpr RootChunkIndex kNoRootChunk = 0xffffffff;

// The driver's lists of allocated root chunks, in the order it searches them (uvm_pmm_gpu.h:
// uvm_pmm_alloc_list_t; section 4.2).
enum class ChunkList : std::uint8_t { Unused, Discarded, Used };
inline constexpr int kChunkLists = 3;
inline constexpr ChunkList kAllChunkLists[] = {ChunkList::Unused, ChunkList::Discarded, ChunkList::Used};

}  // namespace uvmsim
