// Copy engines and the chains of copies that run on them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/units.h"
#include "engine/wait.h"
#include "gpu/ring.h"
#include "uvm/work.h"

namespace uvmsim {

class GpuDevice;

// The copies of one service of one block, in order: evictions first, then what comes in. Each starts after
// the one before it; the page-table writes follow the last. Source: driver specification, section 6.3.
struct Chain {
  struct Copy {
    BlockCopy copy;
    bool eviction = false;
  };
  std::vector<Copy> copies;
  std::size_t done = 0;  // copies[0, done) are complete
  bool closed = false;   // no more copies will be added
  Time ready{};          // copies[done] starts no earlier
  Duration zero{};       // clearing the destination, between the evictions and the rest
  std::vector<PageTableWrite> map;
  GpuDevice* gpu = nullptr;  // whose chain it is (the destination; the source when the host is)
  WaitGroup* group = nullptr;
  std::int64_t batch = 0;   // of the group, when the chain began
  bool background = false;  // as the group

  void clear();
};

// One DMA engine of a GPU, one direction: an in-order queue. A job whose predecessor in its chain is not
// complete holds up the queue, as a semaphore acquire does on the channel.
class CopyEngine {
 public:
  enum class Direction { HostToDevice, DeviceToHost };
  CopyEngine(GpuDevice& gpu, Direction direction);

  // Queues copies[index] of the chain.
  void push(Chain& chain, std::size_t index);
  // A chain went on: the job at the head may be ready.
  void chain_advanced() { ready_.notify_all(); }

 private:
  struct Job {
    Chain* chain = nullptr;
    std::size_t index = 0;
  };
  void run();

  GpuDevice& gpu_;
  Direction direction_;
  Ring<Job> jobs_;
  WaitList work_, ready_;
};

}  // namespace uvmsim
