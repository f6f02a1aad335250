// What a kernel's accesses to remotely mapped pages put on the link, by arithmetic on their shapes.
//
// A warp's access touches sectors of 32 B; the sectors of one line of 128 B are one request to the link (CUDA
// programming guide, "Global memory"; Min et al., EMOGI, VLDB 2020: requests of 32 to 128 B on PCIe). An SM's L1 merges
// what one access, or one row of a CTA's tile, touches. No cache keeps it for others: the driver maps memory of the
// host and of peers uncached (block_gpu_pte_flag_cacheable in uvm_va_block.c; uvm_exp_gpu_cache_sysmem and
// uvm_exp_gpu_cache_peermem are 0).
#pragma once

#include <cstdint>

#include "base/units.h"
#include "gpu/page_table.h"
#include "machine/machine.h"
#include "machine/occupancy.h"

namespace uvmsim {

inline constexpr std::int64_t kSectorBytes = 32;
inline constexpr std::int64_t kLineBytes = 128;  // the largest request of an SM

// Requests on the link, and their bytes: whole sectors.
struct LinkRequests {
  std::int64_t requests = 0, bytes = 0;

  LinkRequests& operator+=(const LinkRequests& o) {
    requests += o.requests;
    bytes += o.bytes;
    return *this;
  }
  friend LinkRequests operator+(LinkRequests a, const LinkRequests& b) { return a += b; }
  friend LinkRequests operator*(LinkRequests a, std::int64_t times) { return {a.requests * times, a.bytes * times}; }
  friend bool operator==(const LinkRequests&, const LinkRequests&) = default;
};

// Of one access of `bytes` contiguous bytes.
LinkRequests requests_of(VirtualAddress address, std::int64_t bytes);
// Of `count` such accesses, each `stride` bytes after the one before. O(128) whatever the count, as all below.
LinkRequests requests_of(VirtualAddress address, std::int64_t bytes, std::int64_t stride, std::int64_t count);
// Of `lines` stretches of `bytes`, each `pitch` after the one before, all accessed in pieces of `piece` bytes.
LinkRequests piece_requests_of(VirtualAddress address, std::int64_t bytes, std::int64_t piece, std::int64_t pitch = 0,
                               std::int64_t lines = 1);
// Of warps whose threads access `width` bytes each, `stride` bytes apart, `places` in all.
LinkRequests gather_requests_of(VirtualAddress address, std::int64_t width, std::int64_t stride, std::int64_t places);
// Of warps whose threads take `chunk` places each, one after the other: a warp's accesses are a chunk apart.
LinkRequests chunk_requests_of(VirtualAddress address, std::int64_t width, std::int64_t stride, std::int64_t places,
                               std::int64_t chunk);

// Of a kernel.
struct RemoteAccess {
  LinkRequests read, written;
  std::int64_t loads = 0;  // by warps, of the operand that has most: operands are loaded side by side

  bool empty() const { return read.requests == 0 && written.requests == 0; }
  std::int64_t bytes() const { return read.bytes + written.bytes; }
};
// What `after` has more than `before`.
RemoteAccess more_than(const RemoteAccess& before, const RemoteAccess& after);

// Part of a kernel's accesses: all pages of [address, address + bytes) get the same share of them.
struct AccessedRange {
  VirtualAddress address = 0;
  std::int64_t bytes = 0;
  LinkRequests requests;   // if all pages were remote
  std::int64_t loads = 0;  // likewise
  bool read = false, write = false;
};
// Adds what goes to those of its pages that are remote.
void add_remote(const AccessedRange& range, const PageTable& pages, RemoteAccess& access);

// What the link has to do for a kernel.
struct RemoteLoad {
  Bytes to_gpu, to_host;  // as much as this many bytes in requests of whole lines
  Duration answers{};     // for the round trips of its reads, however fast the link is
  // When nothing else uses the link.
  Duration alone(const GpuSpec& gpu) const;
};
// `warps`: resident on the GPU at once.
RemoteLoad remote_load(const RemoteAccess& access, const GpuSpec& gpu, std::int64_t warps);

}  // namespace uvmsim
