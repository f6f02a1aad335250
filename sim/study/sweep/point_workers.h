// Where the points of a sweep are simulated: in processes of this machine, or also on peers (peers.h).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/units.h"

namespace uvmsim {

// How one point ended.
struct PointOutcome {
  std::size_t point = 0;
  std::string outcome;  // the report's; "failed" when there is no report; "": not simulated, to be started again
  std::string error;    // why it failed, or the report's detail
  std::string report;   // what `uvmsim run --json` prints; "" when it failed
  double wall_s = 0;
  double cpu_s = 0;  // user and system time of all its processes; 0 when it was killed for a limit
  std::int64_t peak_rss_bytes = 0;
  std::string worker;  // "host:process"
};

// What one point may take.
struct PointLimits {
  std::chrono::seconds timeout{3600};
  Bytes memory{0};  // resident, of its processes added up, looked at five times a second; 0: no limit
};

class PointWorkers {
 public:
  virtual ~PointWorkers() = default;

  // How many points can be started now, and how many are running.
  virtual std::size_t free() const = 0;
  virtual std::size_t running() const = 0;
  // Starts a point. free() is not 0. Throws std::system_error when there can be no process.
  virtual void start(std::size_t point) = 0;
  // The points that ended, after waiting `time` at most for the first of them.
  virtual std::vector<PointOutcome> wait(std::chrono::milliseconds time) = 0;
};

// Each point in a child process of its own. Points in flight are killed when this is destroyed.
class PointProcesses final : public PointWorkers {
 public:
  // The report of a point, as JSON. Runs in the child; what it throws is why the point failed.
  using Simulate = std::function<std::string(std::size_t point)>;

  PointProcesses(Simulate simulate, std::size_t count, PointLimits limits);
  ~PointProcesses() override;

  std::size_t free() const override;
  std::size_t running() const override;
  void start(std::size_t point) override;
  std::vector<PointOutcome> wait(std::chrono::milliseconds time) override;
  // How far the points that are running are, each 0..1, added up.
  double shares() const;

 private:
  struct Running;
  PointOutcome end_of(Running& running, const std::string& limit);
  std::string exceeded_limit(const Running& running) const;

  Simulate simulate_;
  std::size_t count_;
  PointLimits limits_;
  std::vector<std::unique_ptr<Running>> running_;
};

// Who waits for points. What is empty is not asked.
struct PointWatch {
  // Called five times a second: how many points' worth of work is done, parts of those that are running included; how
  // many points are done, of how many.
  std::function<void(double work, std::size_t done, std::size_t all)> progress = {};
  // Asked as often: whether to stop. Points that are not done then failed, as "interrupted".
  std::function<bool()> stopped = {};
};

// Simulates the points 0 .. count - 1 in processes of their own; `note` gets each as it ends. At most `processes` work
// at a time, of those that take a WorkSlot (shared_work.h).
void run_points(std::size_t count, const PointProcesses::Simulate& simulate, int processes, PointLimits limits,
                const std::function<void(const PointOutcome&)>& note, const PointWatch& watch);

// "host:process" of this process.
std::string worker_name();

}  // namespace uvmsim
