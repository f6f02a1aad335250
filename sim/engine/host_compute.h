// Host threads that do the CPU's work for one GPU, in order: the work of kernels (op::HostCompute), and encoding and
// decoding.
#pragma once

#include <string>
#include <vector>

#include "engine/host_cores.h"
#include "engine/launch_signals.h"

namespace uvmsim {

class HostComputeQueue {
 public:
  // `cores` must live as long.
  HostComputeQueue(const std::string& owner, std::unique_ptr<Signal> done, HostCores& cores);

  struct Work {
    int threads = 1;
    Duration cores{};    // with a core for each thread
    Duration storage{};  // of what storage reads and writes meanwhile
  };
  // Work that the program issues at `issued` and that starts after all of `after`. Returns its end.
  StreamPoint push(const Work& work, Time issued, std::vector<StreamPoint> after);

 private:
  struct Queued {
    Work work;
    Time issued{};
    std::vector<StreamPoint> after;
  };
  void run();

  std::unique_ptr<Signal> done_;
  HostCores& cores_;
  std::vector<Queued> queue_;  // in order of issue; those from next_ on are to come
  std::size_t next_ = 0;
  WaitList work_;
};

}  // namespace uvmsim
