// Transfers in progress: how fast each goes. Links are shared max-min fair.
//
// A flow that shares no link goes as fast as its links allow: its end is known. Only flows that do share are SimGrid's,
// from then on to their end.
#pragma once

#include <boost/container/small_vector.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "engine/network.h"
#include "engine/wait.h"

namespace uvmsim {

// One direction of one hop. Its capacity depends on whether the other direction is busy (duplex
// interference) and on how many flows share it (contention efficiency): Machine::links. Or a memory node's own rate,
// "NAME read" or "NAME write". Rates are in bytes per second.
struct LinkDirection {
  int index = 0;  // in order of declaration
  std::string name;
  std::string kind;
  int link = -1;  // of the network
  double capacity = 0, duplex_capacity = 0;
  std::vector<double> efficiency;  // LinkSpec::sharing_efficiency
  bool unlimited = false;          // every flow has all of it
  LinkDirection* opposite = nullptr;
  std::optional<int> both;  // the link that limits both directions together, when there is one
  double both_capacity = 0;

  int flows = 0;
  double wanted = 0;   // by them: what each had alone
  double has = 0;      // its capacity with the flows of now
  double told = 0;     // its capacity as SimGrid knows it
  double carried = 0;  // bytes that a flow of this direction could have had so far, by its fair share
  Time carried_at{};
  std::int64_t changed = 0;  // the last change that concerned it: Flows::changes_

  std::int64_t bytes = 0;
  Time busy_since{};
  Time flowing_since{};  // as busy_since, and no reset_usage changes it
  Duration busy{};
  Duration contention{};  // LinkDirectionResult::contention_s
};

// The rate of who moves the data: a copy engine, or the SMs themselves.
struct MoverRate {
  int link = -1;  // of the network
  int flows = 0;
};

// A path between two nodes.
struct Route {
  int from = -1, to = -1;  // hosts of the network; -1: there is no path
  std::vector<LinkDirection*> hops;
  MoverRate* mover = nullptr;  // nullptr: as fast as the links
  double bandwidth = 0;        // of its narrowest link, alone
  Slots* queue = nullptr;      // of a memory node that serves few transfers at a time
};

class Flows {
 public:
  // `network` must outlive it.
  explicit Flows(Network& network) : network_(network) {}

  // Of each hop of a route, the bytes that its fair share alone would have moved.
  using Shares = boost::container::small_vector<double, 8>;

  // Moves `size` bytes, more than none; blocks the calling actor until they are there.
  Shares move(const Route& route, Bytes size);
  // Runs the actors of `scheduler()`, and with them SimGrid's part of the flows. As Scheduler::run; call it once.
  bool run_actors();
  // Every flow is SimGrid's, from its start: for tests.
  void use_simgrid_only() { simgrid_only_ = true; }

 private:
  struct Flow {
    const Route* route = nullptr;
    Actor* actor = nullptr;  // who waits for it
    double left = 0;         // bytes at `since`
    double rate = 0;
    Time since{}, end{};
    bool shares = false;  // SimGrid has it, or will have
    bool done = false;    // SimGrid says
  };
  void begin(Flow& flow);
  void wait(Flow& flow);
  void end(Flow& flow);
  void account(const Route& route);
  void change(const Route& route);
  void refresh(LinkDirection& direction);
  bool concerned(const Flow& flow) const;
  double rate_of(const Flow& flow) const;
  void set_rate(Flow& flow, double rate);
  bool has_news() const;
  Time advance(Time next);
  Flow* run_simgrid(Time until);
  Time ended(Flow& flow, Time next);
  void hand_over();
  void tell_capacities();
  Time next_end() const;
  void tell(LinkDirection& direction, double capacity);

  Network& network_;

  std::vector<Flow*> alone_;    // whose rates are known
  std::vector<Flow*> sharing_;  // SimGrid's, those to come last
  Time next_end_{};             // of those; it may be later
  std::int64_t changes_ = 0;
  bool capacities_changed_ = false;  // since SimGrid was told
  bool simgrid_only_ = false;
};

}  // namespace uvmsim
