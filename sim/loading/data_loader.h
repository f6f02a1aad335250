// Data loading in time: items are fetched from memory or storage, prepared by the cores, and wait in a queue of each
// GPU for its next iteration.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "loading/data_config.h"

namespace uvmsim {

// The part of a job that runs on one server. Its GPUs step together, and so do the job's servers.
struct TrainingJob {
  Duration iteration{};          // with the data in place
  std::int64_t samples = 0;      // that each iteration takes, of all GPUs of the server
  int gpus = 1;                  // by which `samples` divides
  BytesPerSecond memory_read{};  // items from the cache
};

// What is modelled of loading: the differential measurement leaves it out part by part.
enum class LoadedFrom {
  Synthetic,  // batches are there as soon as they are asked for
  Memory,     // everything is in the cache
  Storage,    // as configured
};

// Items by where they were read.
struct ItemCounts {
  std::int64_t cached = 0;  // in the server's own memory
  std::int64_t remote = 0;  // in another server's
  std::int64_t stored = 0;  // in storage

  std::int64_t all() const { return cached + remote + stored; }
  double share(std::int64_t of) const { return all() == 0 ? 0 : static_cast<double>(of) / static_cast<double>(all()); }
};

// One epoch in the steady state, after those that fill the caches.
struct LoadedEpoch {
  Duration duration{};
  std::int64_t samples = 0;  // trained with, of all jobs and servers
  ItemCounts items;

  double samples_per_s() const { return static_cast<double>(samples) / seconds(duration); }
};

// Epochs leave out what is no whole batch, as drop_last does; each has at least one iteration.
//
// Per server, storage, network and memory serve one batch at a time, in the order of the GPUs and jobs, and so do the
// cores, which all work on one batch as DALI's threads do; a batch is fetched while the one before it is prepared. It
// starts once its GPU's queue has room. Without other limits an epoch therefore runs at the least of three rates: what
// the GPUs take, what the cores prepare, and what is fetched.
LoadedEpoch load_epoch(const DataConfig& data, const TrainingJob& job, LoadedFrom from);

// Iterations of an epoch.
std::int64_t iterations_per_epoch(const DataConfig& data, const TrainingJob& job);

}  // namespace uvmsim
