// Simulates the points of a sweep that are not done yet.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "study/sweep/plan.h"
#include "study/sweep/point_workers.h"
#include "study/sweep/store.h"

namespace uvmsim {

// Every n-th point of the grid, for sweeps on machines that do not share a disk. Shards 0 .. count - 1.
struct Shard {
  int index = 0;
  int count = 1;
};

// "3/16": the third of sixteen. nullopt when it is none.
std::optional<Shard> parse_shard(std::string_view text);
// The shard of a Slurm array's task, by its environment; nullopt outside of one.
std::optional<Shard> slurm_shard(const std::function<const char*(const char*)>& environment);

// The numbers of the points of `shard`, in order.
std::vector<std::size_t> points_of(const SweepPlan& plan, Shard shard);

struct SweepProgress {
  std::size_t all = 0;   // points with hashes of their own
  std::size_t done = 0;  // failed ones included
  std::size_t failed = 0;
  std::size_t running = 0;
  std::size_t skipped = 0;  // of those done: they were when the sweep started
  bool interrupted = false;
};

struct SweepRunOptions {
  std::function<bool()> stopped;                            // asked a few times a second: whether to end early
  std::function<void(const SweepProgress&)> progress = {};  // called as often
};

// Simulates `points` on `workers` and keeps each result as soon as it is there. Points that another sweep simulates in
// the same folder are waited for. Points in flight when it is stopped are not done.
SweepProgress run_sweep(const SweepPlan& plan, const std::vector<std::size_t>& points, SweepStore& store,
                        PointWorkers& workers, const SweepRunOptions& options);

}  // namespace uvmsim
