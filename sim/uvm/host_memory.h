// Host memory behind managed pages: chunks of 2 MiB, 64 KiB or 4 KiB, and how much of it is in use.
//
// Source: driver specification, section 1.2; uvm_va_block.c: block_populate_pages_cpu.
#pragma once

#include "uvm/va_block.h"

namespace uvmsim {

// Pages that have host memory now, and those of them that were zeroed.
struct NewHostPages {
  PageMask added, zeroed;
};

class HostMemory {
 public:
  // `capacity` zero: unlimited. `chunk_sizes`: of 2 MiB, 64 KiB and 4 KiB, or-ed; 4 KiB there always are.
  HostMemory(Bytes capacity, std::int64_t chunk_sizes)
      : capacity_(capacity),
        whole_chunks_((chunk_sizes & kBlockBytes) != 0),
        big_chunks_((chunk_sizes & kBigPageBytes) != 0) {}

  // Puts host memory behind `pages`; each missing page brings the largest naturally aligned chunk that lies in
  // the block and overlaps no other; of memory from malloc itself alone. A chunk whose pages are not all resident
  // somewhere is zeroed.
  NewHostPages populate(VaBlock& block, const PageMask& pages);
  // Frees all host memory of the block.
  void release(VaBlock& block);

  Bytes used() const { return used_; }
  Bytes peak() const { return peak_; }
  bool exceeded() const { return capacity_.value > 0 && used_ > capacity_; }

 private:
  void count(std::int64_t pages);

  Bytes capacity_, used_{}, peak_{};
  bool whole_chunks_, big_chunks_;
};

// A block's host chunks when the block is cut at `page`: `back` takes what lies behind.
void split_host_chunks(VaBlock& front, VaBlock& back);

}  // namespace uvmsim
