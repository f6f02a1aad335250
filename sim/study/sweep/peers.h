// The processes of one sweep on several machines: what MPI has to do for it (sim/mpi), and what they say to each other.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "study/sweep/plan.h"
#include "study/sweep/point_workers.h"

namespace uvmsim {

struct PeerMessage {
  int from = 0;
  std::string text;
};

// Carries texts between processes numbered from 0, in order between each two of them. Process 0 leads.
class Peers {
 public:
  virtual ~Peers() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual void send(int to, const std::string& text) = 0;
  // The next message that has arrived; does not wait.
  virtual std::optional<PeerMessage> receive() = 0;
};

// The leader's workers: `here`, and what every other process offers. Whoever is free first gets the next point.
class PeerWorkers final : public PointWorkers {
 public:
  PeerWorkers(Peers& peers, std::unique_ptr<PointWorkers> here, const SweepPlan& plan);
  // Tells the others to stop, and waits until they have.
  ~PeerWorkers() override;

  std::size_t free() const override;
  std::size_t running() const override;
  void start(std::size_t point) override;
  // Throws UserError when another process has other points under the same numbers, or gave up. Points of one that was
  // told to end come back with outcome "".
  std::vector<PointOutcome> wait(std::chrono::milliseconds time) override;

 private:
  void hear(const PeerMessage& message, std::vector<PointOutcome>& ended);

  Peers& peers_;
  std::unique_ptr<PointWorkers> here_;
  const SweepPlan& plan_;
  std::map<int, std::size_t> free_;               // of the others: how many points they have room for,
  std::map<int, std::set<std::size_t>> running_;  // and which they simulate
  std::set<int> gone_;
};

// What the other processes do: simulate what the leader asks for on `here`, until it says stop or `stopped` does.
void serve_points(Peers& peers, PointWorkers& here, const SweepPlan& plan, const std::function<bool()>& stopped);

// What another process does instead when it has a fault of its own, which the leader then reports.
void give_up(Peers& peers, const std::string& fault);

}  // namespace uvmsim
