// The database of a sweep folder (sim/study/SWEEP.md). Several processes may use one folder at once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "study/sweep/database.h"
#include "study/sweep/owner.h"
#include "study/sweep/plan.h"
#include "study/sweep/point_workers.h"

namespace uvmsim {

// One row of `sweeps`.
struct StoredSweep {
  std::int64_t id = 0;
  std::string experiment, description;
  std::string axes;  // JSON
  std::string settings;
};

// A row of `points` with its result.
struct StoredPoint {
  std::int64_t place = 0;
  std::string hash;
  std::string settings;        // JSON
  std::string outcome, error;  // "": not done
  std::string report;          // JSON; "": none
  double wall_s = 0, cpu_s = 0;
  std::int64_t peak_rss_bytes = 0;
};

class SweepStore {
 public:
  enum class Open { Create, Existing };  // `Existing` only to be read: nothing is written
  // Throws UserError when the folder cannot be used, or `Existing` and there is no sweep in it.
  SweepStore(const std::string& folder, Open open);

  bool has_results() const;
  // Notes that the points of `plan` with these numbers are asked for.
  void add(const SweepPlan& plan, const std::vector<std::size_t>& points);

  enum class Claim { Mine, Done, Others };
  // Asks for a point, to simulate it. Mine: until keep() or release(), or until this process ends. A point that failed
  // before this store was opened, or was made by another version of this program, may be claimed once more.
  Claim claim(const std::string& hash);
  void keep(const std::string& hash, const PointOutcome& outcome);
  void release(const std::string& hash);

  // Takes over what another folder holds. Throws UserError when the two mean different points by the same place in the
  // same sweep. Returns how many results were new.
  std::int64_t merge(const std::string& folder);

  std::vector<StoredSweep> sweeps() const;
  // Calls `visit` for each point of a sweep, in the order of the grid.
  void for_each_point(std::int64_t sweep, const std::function<void(const StoredPoint&)>& visit) const;

 private:
  void create_tables();
  void check_layout(std::int64_t version) const;

  std::string folder_;
  Database database_;
  std::optional<SweepOwner> owner_;           // of what can be claimed
  std::set<std::string, std::less<>> again_;  // failed, or made by another version, before this was opened
};

}  // namespace uvmsim
