// One copy stream of a GPU for explicit memory: tensors to or from pinned host memory, in order, one at a time.
#pragma once

#include <string>
#include <vector>

#include "engine/collective.h"
#include "engine/gpu_device.h"

namespace uvmsim {

class Coordination;

// A point of a stream: an event that was recorded for the `target`-th time.
struct StreamPoint {
  EventState* event = nullptr;  // nullptr: already there
  std::int64_t target = 0;

  bool reached() const { return event == nullptr || event->completed >= target; }
  // Blocks the calling actor.
  void wait() const {
    while (!reached()) event->completed_changed.wait();
  }
};

class SwapStream {
 public:
  enum class Direction { In, Out };
  // `done` is recorded by each push and completed by each copy. `coordination`: whom copies ask; nullptr: nobody.
  SwapStream(GpuDevice& gpu, Direction direction, const std::string& owner, EventState& done,
             Coordination* coordination);

  // How urgent a copy is.
  struct Need {
    bool awaited = false;      // the program waits for it already
    std::int64_t kernel = -1;  // of the GPU, counted from 0 over the whole run, that needs it; -1: not known
    std::int32_t action = -1;  // that the copy is for
  };
  // Between which memories a copy goes, and how long its codec works on it.
  struct Way {
    int node = -1;     // of Machine::memories; -1: the host memory nearest to the GPU
    Duration codec{};  // the copy takes at least so long
  };
  // A cudaMemcpyAsync that the host issues at `issued` and that starts after all of `after`. Returns its end.
  StreamPoint push(Bytes size, Time issued, std::vector<StreamPoint> after, Need need, Way way);

 private:
  struct Copy {
    Bytes size;
    Time issued{};
    std::vector<StreamPoint> after;
    Need need;
    Way way;
  };
  void run();
  void transfer(const Copy& copy);
  const Route& route(int node) const;

  GpuDevice& gpu_;
  Direction direction_;
  EventState& done_;
  Coordination* coordination_;
  std::vector<Copy> copies_;  // in order of issue; those from next_ on are to come
  std::size_t next_ = 0;
  WaitList work_;
};

}  // namespace uvmsim
