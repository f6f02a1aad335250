// Collectives and stream events: where streams meet.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/fabric.h"
#include "engine/wait.h"

namespace uvmsim {

// The state of a CUDA event: how often it was recorded and completed.
struct EventState {
  // What a stream waits for at it.
  enum class Kind {
    Program,  // its program's other streams
    Swap,     // an explicit copy of a plan
    Turn,     // other GPUs, as a coordinator says
  };
  explicit EventState(const std::string& name, Kind of = Kind::Program)
      : kind(of), completed_changed("the event " + name) {}
  Kind kind;
  std::int64_t recorded = 0;   // by the host, in issue order
  std::int64_t completed = 0;  // by the streams
  WaitList completed_changed;
  // Of a Swap that copies record: by record, the action that it is for (-1: none) and when it was completed.
  std::vector<std::int32_t> actions;
  std::vector<Time> completed_at;
  std::int32_t action_of(std::int64_t target) const {
    const auto at = static_cast<std::size_t>(target - 1);
    return target > 0 && at < actions.size() ? actions[at] : -1;
  }
};

// Ring collectives: every rank waits for all others, then sends to the next in the ring.
// An all-reduce of n ranks moves 2 (n - 1) / n of the bytes over each ring link.
class CollectiveRendezvous {
 public:
  explicit CollectiveRendezvous(Fabric& fabric) : fabric_(fabric) {}

  // Streams of `ranks` GPUs will take part in communicator `communicator`.
  void join(int communicator, int gpu);
  // Runs the caller's part of the next collective of the communicator; blocks until it is complete.
  void run(int communicator, int gpu, Bytes size, double share);
  int ranks(int communicator) const;

 private:
  struct Communicator {
    std::vector<int> ring;  // GPUs in ring order
    int arrived = 0;
    std::int64_t round = 0;
    std::unique_ptr<WaitList> all_here;
  };
  void order_ring(Communicator& c) const;
  bool extend(std::vector<int>& path, const std::vector<int>& gpus) const;

  Fabric& fabric_;
  std::map<int, Communicator> communicators_;
};

}  // namespace uvmsim
