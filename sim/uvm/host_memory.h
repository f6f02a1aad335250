// Host memory behind managed pages: chunks of 2 MiB, 64 KiB or 4 KiB, and how much of it is in use.
//
// Source: driver specification, section 1.2; uvm_va_block.c: block_populate_pages_cpu.
#pragma once

#include "uvm/va_block.h"

namespace uvmsim {

class HostMemory {
 public:
  // `capacity` zero: unlimited. `large_chunks`: 2 MiB and 64 KiB chunks exist (driver 530 and later).
  HostMemory(Bytes capacity, bool large_chunks) : capacity_(capacity), large_chunks_(large_chunks) {}

  // Puts host memory behind `pages`; each missing page brings the largest naturally aligned chunk that lies in
  // the block and overlaps no other. Returns the pages newly backed (they are zeroed, resident or not).
  PageMask populate(VaBlock& block, const PageMask& pages);
  // Frees all host memory of the block.
  void release(VaBlock& block);

  Bytes used() const { return used_; }
  Bytes peak() const { return peak_; }
  bool exceeded() const { return capacity_.value > 0 && used_ > capacity_; }

 private:
  void count(std::int64_t pages);

  Bytes capacity_, used_{}, peak_{};
  bool large_chunks_;
};

// A block's host chunks when the block is cut at `page`: `back` takes what lies behind.
void split_host_chunks(VaBlock& front, VaBlock& back);

}  // namespace uvmsim
