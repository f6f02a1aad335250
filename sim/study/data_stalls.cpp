#include "study/data_stalls.h"

#include <algorithm>
#include <cmath>

namespace uvmsim {
namespace {

// Of an item, in seconds, at `rate`.
double seconds_of_item(const DataConfig& data, BytesPerSecond rate) {
  return static_cast<double>(data.item_bytes.value) / static_cast<double>(rate.value);
}

// Jobs that fetch and prepare for themselves, on each server.
int readers(const DataConfig& data) { return data.coordinated ? 1 : data.jobs; }

// Items that a server's GPUs take per second.
double items_taken_per_s(const DataConfig& data, const TrainingJob& job) {
  return static_cast<double>(job.samples * readers(data)) / seconds(job.iteration);
}

// Samples that all train with when each server gets this many items per second.
double samples_per_s(const DataConfig& data, double items_per_s) {
  return items_per_s * data.servers * data.jobs / readers(data);
}

double seconds_to_fetch(const DataConfig& data, const TrainingJob& job, const LoadingRates& rates) {
  return rates.cached_share * seconds_of_item(data, job.memory_read) +
         rates.remote_share * seconds_of_item(data, data.network) +
         (1 - rates.cached_share - rates.remote_share) * seconds_of_item(data, data.storage.read);
}

// Where the fetch takes no longer than what it feeds: F(c) = 1 / (c / M + (1 - c) / D), solved for c and for D.
void add_needs(DataStalls& stalls) {
  const DataConfig& data = stalls.data;
  const double taken = items_taken_per_s(data, stalls.job);
  stalls.cores_needed = static_cast<std::int64_t>(std::ceil(taken / data.prep_rate));
  const double at_most = 1 / std::min(taken, data.prep_rate * data.cores);  // seconds per item
  const double cached = seconds_of_item(data, stalls.job.memory_read);
  const double stored = seconds_of_item(data, data.storage.read);
  if (stored <= at_most)
    stalls.memory_needed = Bytes{};
  else if (cached < at_most)
    stalls.memory_needed =
        data.item_bytes *
        static_cast<std::int64_t>(std::ceil((stored - at_most) / (stored - cached) * static_cast<double>(data.items)));
  const double missed = 1 - stalls.rates.cached_share - stalls.rates.remote_share;
  const double left = at_most - seconds_to_fetch(data, stalls.job, stalls.rates) + missed * stored;
  if (left > 0)
    stalls.storage_needed = BytesPerSecond{
        static_cast<std::int64_t>(std::ceil(missed * static_cast<double>(data.item_bytes.value) / left))};
}

std::vector<DataWhatIf> what_ifs(const DataConfig& data, const TrainingJob& job) {
  std::vector<DataWhatIf> all;
  const auto add = [&](std::string name, const auto& change) {
    DataConfig changed = data;
    TrainingJob changed_job = job;
    change(changed, changed_job);
    all.push_back({std::move(name), loading_rates(changed, changed_job)});
  };
  add("twice the cores", [](DataConfig& d, TrainingJob&) { d.cores *= 2; });
  add("twice the memory for items", [](DataConfig& d, TrainingJob&) { d.cache_memory = d.cache_memory * 2; });
  add("memory for all items", [](DataConfig& d, TrainingJob&) { d.cache_memory = d.item_bytes * d.items; });
  add("storage twice as fast", [](DataConfig& d, TrainingJob&) { d.storage.read = d.storage.read * 2; });
  add("GPUs twice as fast", [](DataConfig&, TrainingJob& j) { j.iteration = j.iteration / 2; });
  for (const auto& [name, entry] : item_caches().entries())
    if (name != data.cache)
      add("cache " + name, [&entry = entry](DataConfig& d, TrainingJob&) { d.cache_factory = entry.make(); });
  if (data.jobs > 1 && !data.coordinated)
    add("coordinated preparation", [](DataConfig& d, TrainingJob&) { d.coordinated = true; });
  if (data.servers > 1 && !data.partitioned)
    add("partitioned caches", [](DataConfig& d, TrainingJob&) { d.partitioned = true; });
  return all;
}

}  // namespace

double prep_stall(const LoadingRates& r) {
  return r.loaded_samples_per_s * (1 / r.cached_samples_per_s - 1 / r.synthetic_samples_per_s);
}

double fetch_stall(const LoadingRates& r) { return 1 - r.loaded_samples_per_s / r.cached_samples_per_s; }

TrainingJob training_job(const Experiment& experiment, const Result& result) {
  TrainingJob job{.iteration = from_seconds(result.duration_s),
                  .samples = std::llround(result.samples),
                  .gpus = experiment.workload.data_parallel ? static_cast<int>(experiment.machine.gpus.size()) : 1,
                  .memory_read = experiment.machine.host.touch_bandwidth};
  if (job.samples <= 0)
    throw UserError(experiment.name, {{"/workload", "it counts no samples: what it reads per iteration is not known"}});
  if (iterations_per_epoch(experiment.data, job) == 0)
    throw UserError(experiment.name,
                    {{"/data/items", std::to_string(experiment.data.items) + " items are no iteration: one takes " +
                                         std::to_string(job.samples * experiment.data.servers)}});
  return job;
}

LoadingRates loading_rates(const DataConfig& data, const TrainingJob& job) {
  const LoadedEpoch loaded = load_epoch(data, job, LoadedFrom::Storage);
  return {.synthetic_samples_per_s = load_epoch(data, job, LoadedFrom::Synthetic).samples_per_s(),
          .cached_samples_per_s = load_epoch(data, job, LoadedFrom::Memory).samples_per_s(),
          .loaded_samples_per_s = loaded.samples_per_s(),
          .cached_share = loaded.items.share(loaded.items.cached),
          .remote_share = loaded.items.share(loaded.items.remote)};
}

DataStalls data_stalls(const Experiment& experiment, const Result& result) {
  const DataConfig& data = experiment.data;
  const TrainingJob job = training_job(experiment, result);
  DataStalls stalls{.experiment = experiment.name,
                    .description = experiment.description,
                    .settings = experiment.overrides,
                    .sample_unit = result.sample_unit,
                    .data = data,
                    .job = job,
                    .rates = loading_rates(data, job),
                    .what_ifs = what_ifs(data, job)};
  stalls.fetched_samples_per_s = samples_per_s(data, 1 / seconds_to_fetch(data, job, stalls.rates));
  stalls.prepared_samples_per_s = samples_per_s(data, data.prep_rate * data.cores);
  add_needs(stalls);
  return stalls;
}

}  // namespace uvmsim
