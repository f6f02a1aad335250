// The VA ranges behind cudaMallocManaged: a large allocation has its own, small ones share.
//
// What a request becomes is in no source that is public. Byte counts and addresses that nvprof printed say:
//   * Large ones are whole 4 KiB pages. gpgpu-sim_UVMSmart, benchmarks/Results/Smart_Runtime/NoOversub/Real (GTX 1080
//     Ti, driver 390): what a program wrote and its kernels read comes in to the page. ATAX's 5,760,000 B are 1407
//     pages of 5692 KiB (the rest: 64 KiB, below), nw's two of 4,202,500 B are 1027 pages each, all of 8216 KiB;
//     FDTD-2D's three are 1408, 1408 and 1407 of 16956 KiB, and 1407 of them come back.
//   * Small ones share a VA range of 2 MiB, one behind the other. There: the results of 4.8 kB of ATAX come back as
//     pages 1, 0 and the rest of 64 KiB, so that the 4.8 kB before them end on page 0 or 1; pathfinder's 200,000 B come
//     in as 256 KiB, which 49 pages cannot; bfs's costs (1,024,000 B, behind 3 x 256,000 B) come back in 18 copies of
//     1344 KiB, as from 750 KiB on in a tree of 2 MiB. On a Tesla T4 with CUDA 12 (nvprof of vector_add_um_baseline.cu,
//     three arrays of 256 KiB) they begin at 0, 256 and 512 KiB, the host's second array takes one fault instead of
//     three, and 1 MiB comes back of 768 KiB.
//   * 2 MiB + 192 KiB behaves as at least 2 MiB + 256 KiB (UVMSmart, managedAllocRoundUp): the third fault of the tail
//     brings 128 KiB. Uvm-eval's arrays of 2 MiB (TITAN V, driver 460) each begin on 2 MiB.
// So somewhere between 2.2 and 4.2 MB an allocation gets a VA range for itself: at 4 MiB here (assumed). Places are
// multiples of 512 B, as cudaMalloc's (assumed), and go to whom they fit best once they are free (assumed).
#pragma once

#include <map>
#include <unordered_map>

#include "base/units.h"
#include "memory/free_list.h"

namespace uvmsim {

class ManagedRanges {
 public:
  struct Place {
    VirtualAddress address = 0;
    Bytes new_range;  // of the VA range that begins there; 0: the place is in one that was there
  };
  Place allocate(Bytes size);
  // Memory from malloc: it shares with nobody.
  Place allocate_alone(Bytes size);

  struct Freed {
    VirtualAddress range = 0;  // that the allocation was in
    bool last = false;         // nothing else is in it: it is gone
  };
  Freed free(VirtualAddress address);

 private:
  struct Range {
    std::int64_t bytes = 0;
    int allocations = 0;  // in it
    bool shared = false;
  };

  VirtualAddress make_range(std::int64_t bytes, bool shared);

  VirtualAddress next_ = kManagedBase;  // of the next VA range: they begin on 2 MiB
  std::map<VirtualAddress, Range> ranges_;
  FreeList free_;                                           // in shared ranges
  std::unordered_map<VirtualAddress, std::int64_t> taken_;  // bytes of places in shared ranges
};

}  // namespace uvmsim
