// Collectives and stream events: where streams meet.
#pragma once

#include <compare>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/fabric.h"
#include "engine/wait.h"
#include "memory/program.h"

namespace uvmsim {

class Coordination;

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
//
// The members of a communicator are the GPUs that issue its collectives; with `ranks` it is several communicators of
// this many neighbours each, or `stride` apart (trace/FORMAT.md). A GPU is one rank at most, as in NCCL. One that is
// alone takes the time that was recorded, unless `ranks` is 1.
class CollectiveRendezvous {
 public:
  explicit CollectiveRendezvous(Fabric& fabric) : fabric_(fabric) {}

  // The transfers of the rings ask `coordination`, when its coordinator wants that.
  void set_coordination(Coordination& coordination) { coordination_ = &coordination; }

  // `gpu` will take part in collectives like this one.
  void join(const op::Collective& collective, GpuIndex gpu);
  // Everybody has joined.
  void form_rings();
  // The host of `gpu` issues a collective: its number among those of its communicator. Those with one number meet.
  // `needed_by`: of the GPU's kernels, counted from 0 over the whole run, the one that waits for it; -1: not known.
  std::int64_t issue(const op::Collective& collective, GpuIndex gpu, std::int64_t needed_by = -1);
  // Runs the caller's part of it, after its own part in earlier ones; blocks until it is complete. Ranks that disagree
  // about what it is do not meet. `followed`: by the communicator's next one on its stream, directly.
  void run(const op::Collective& collective, GpuIndex gpu, std::int64_t number, bool followed = false);

 private:
  struct Id {
    std::int32_t communicator, ranks, stride;
    friend auto operator<=>(const Id&, const Id&) = default;
  };
  // The beginning (0) or end (1) of a collective: its number, which of both, what it is.
  using Place = std::tuple<std::int64_t, int, trace::Collective, std::int64_t>;
  struct Ring {
    explicit Ring(const std::string& name)
        : others("the other ranks of a collective of " + name), turn("an earlier collective of " + name) {}
    std::vector<GpuIndex> gpus;  // in ring order
    std::map<GpuIndex, std::int64_t> issued, done;
    std::map<std::pair<GpuIndex, std::int64_t>, std::int64_t> needed_by;  // by number
    std::map<Place, std::size_t> arrived;
    WaitList others, turn;
  };
  // Those with a priority that the same GPUs take part in go one at a time, the least first, in the order in which all
  // ranks were there. What follows one on its streams without anything in between competes for the next turn.
  struct Turns {
    struct Place {
      std::int32_t priority = 0;
      std::int64_t came = 0;
      const Ring* ring = nullptr;
      friend bool operator<(const Place& a, const Place& b) {
        return std::tie(a.priority, a.came) < std::tie(b.priority, b.came);
      }
    };
    std::set<Place> waiting;
    std::int64_t came = 0;
    const Ring* current = nullptr;       // whose collective is under way
    const Ring* expected = nullptr;      // whose next one is about to come
    std::size_t left = 0, followed = 0;  // ranks that are done with the current one; of them, those with a next one
    std::unique_ptr<WaitList> next = std::make_unique<WaitList>("what has a higher priority");
  };
  static Id id_of(const op::Collective& c) { return {c.communicator, c.ranks, c.stride}; }
  Ring& ring_of(const op::Collective& collective, GpuIndex gpu);
  static void meet(Ring& ring, const Place& place);
  // A rank's part: what it sends to the next in the ring.
  struct Part {
    GpuIndex from, to;
    double share = 1;  // of the collective's bytes
    std::int64_t needed_by = -1;
  };
  void pass(const Part& part, std::int64_t bytes);
  bool take_turn(const Ring& ring, std::int32_t priority);
  void end_turn(const Ring& ring, bool followed);
  static void give_turn(Turns& turns);
  void order(std::vector<GpuIndex>& ring) const;
  bool extend(std::vector<GpuIndex>& path, const std::vector<GpuIndex>& gpus) const;

  Fabric& fabric_;
  Coordination* coordination_ = nullptr;
  std::map<Id, std::vector<GpuIndex>> members_;
  std::map<Id, std::vector<std::unique_ptr<Ring>>> rings_;
  std::map<std::vector<GpuIndex>, Turns> turns_;  // by the GPUs of a ring
};

}  // namespace uvmsim
