// Host threads that do the work of kernels for one GPU (op::HostCompute), in order.
#pragma once

#include <string>
#include <vector>

#include "engine/launch_signals.h"

namespace uvmsim {

class HostComputeQueue {
 public:
  HostComputeQueue(const std::string& owner, std::unique_ptr<Signal> done);

  // Work of `duration` that the program issues at `issued` and that starts after all of `after`. Returns its end.
  StreamPoint push(Duration duration, Time issued, std::vector<StreamPoint> after);

 private:
  struct Work {
    Duration duration{};
    Time issued{};
    std::vector<StreamPoint> after;
  };
  void run();

  std::unique_ptr<Signal> done_;
  std::vector<Work> queue_;  // in order of issue; those from next_ on are to come
  std::size_t next_ = 0;
  WaitList work_;
};

}  // namespace uvmsim
