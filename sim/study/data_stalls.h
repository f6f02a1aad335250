// Where training waits for its data, by the differential measurement of DS-Analyzer (Mohan et al., Analyzing and
// Mitigating Data Stalls in DNN Training, VLDB 2021): one run with data that is always there, one with all items in
// memory, one as configured. The first two differ by the prep stall, the last two by the fetch stall.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "loading/data_loader.h"
#include "metrics/result.h"
#include "study/experiment.h"

namespace uvmsim {

// Shares of the time of training; with the GPUs' own they are 1.
double prep_stall(const LoadingRates& rates);
double fetch_stall(const LoadingRates& rates);

struct DataWhatIf {
  std::string name;  // "twice the cores"
  LoadingRates rates;
};

struct DataStalls {
  std::string experiment, description;
  std::vector<std::string> settings;  // KEY=VALUE, of the user
  std::string sample_unit;
  DataConfig data;
  TrainingJob job;
  LoadingRates rates;
  // What storage and memory alone deliver at these hits, and the cores alone, of all servers and jobs.
  double fetched_samples_per_s = 0, prepared_samples_per_s = 0;
  // The least with which nobody waits for it: of each server's cores and memory, and of its storage with the hits there
  // are. nullopt: no memory or storage is enough, as cached items or other servers are what is waited for.
  std::int64_t cores_needed = 0;
  std::optional<Bytes> memory_needed = {};
  std::optional<BytesPerSecond> storage_needed = {};
  std::vector<DataWhatIf> what_ifs;
};

// How one job of the experiment trains, from its simulated `result`. UserError when the workload counts no samples, or
// an epoch has too few items for an iteration.
TrainingJob training_job(const Experiment& experiment, const Result& result);

LoadingRates loading_rates(const DataConfig& data, const TrainingJob& job);

// Of the experiment's result, which completed. UserError as training_job.
DataStalls data_stalls(const Experiment& experiment, const Result& result);

std::string to_text(const DataStalls& stalls);
// One JSON object; the same input gives the same bytes.
std::string to_json(const DataStalls& stalls);

}  // namespace uvmsim
