#include <nlohmann/json.hpp>

#include "base/number_text.h"
#include "base/quantity.h"
#include "report/table.h"
#include "study/data_stalls.h"

namespace uvmsim {
namespace {

using Json = nlohmann::ordered_json;

std::string counted(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::vector<std::string> row(const std::string& name, const LoadingRates& rates, const LoadingRates& base) {
  return {name,
          number_text(rates.loaded_samples_per_s),
          number_text(rates.loaded_samples_per_s / base.loaded_samples_per_s) + "x",
          percent_text(fetch_stall(rates)),
          percent_text(prep_stall(rates)),
          percent_text(rates.cached_share + rates.remote_share)};
}

std::string setting_text(const DataStalls& s) {
  const DataConfig& data = s.data;
  return "  " + count_text(data.items) + " items of " + to_text(data.item_bytes) + " on " + data.storage.name + " (" +
         to_text(data.storage.read) + "), " + to_text(data.cache_memory) + " of memory for them (" + data.cache +
         ")\n  " + counted(data.cores, "core") + " at " + number_text(data.prep_rate) + " items/s, " +
         counted(data.jobs, "job") + " of " + counted(s.job.gpus, "GPU") +
         (data.coordinated ? " that share prepared data" : "") + " on " + counted(data.servers, "server") +
         (data.partitioned ? " that share memory" : "") + "\n";
}

// "24 cores: 25 would do".
std::string needs_text(const DataStalls& s) {
  const std::string memory = s.memory_needed      ? bytes_text(s.memory_needed->value)
                             : s.data.servers > 1 ? "none is enough on a server alone"
                                                  : "none is enough";
  const std::string storage = s.storage_needed ? bytes_text(s.storage_needed->value) + "/s" : "none";
  return "\nWhat it takes so that nobody waits, per server\n" +
         aligned({{"cores", std::to_string(s.cores_needed), "of " + std::to_string(s.data.cores)},
                  {"memory for items that stay", memory, "of " + bytes_text(s.data.cache_memory.value)},
                  {"storage, at these hits", storage, "of " + bytes_text(s.data.storage.read.value) + "/s"}});
}

Json json_of(const LoadingRates& rates) {
  return {{"samples_per_s", rates.loaded_samples_per_s},
          {"synthetic_samples_per_s", rates.synthetic_samples_per_s},
          {"cached_samples_per_s", rates.cached_samples_per_s},
          {"fetch_stall", fetch_stall(rates)},
          {"prep_stall", prep_stall(rates)},
          {"cached_share", rates.cached_share},
          {"remote_share", rates.remote_share}};
}

}  // namespace

std::string to_text(const DataStalls& s) {
  const std::string unit = s.sample_unit + "/s";
  const LoadingRates& rates = s.rates;
  std::string text = s.experiment + "\n";
  if (!s.description.empty()) text += "  " + s.description + "\n";
  for (const std::string& setting : s.settings) text += "  with " + setting + "\n";
  text += setting_text(s) + "\nWhat each would reach alone\n" +
          aligned({{"GPUs, with data that is always there", number_text(rates.synthetic_samples_per_s) + " " + unit},
                   {"cores", number_text(s.prepared_samples_per_s) + " " + unit},
                   {"memory and storage", number_text(s.fetched_samples_per_s) + " " + unit}});
  text += "\nTogether: " + number_text(rates.loaded_samples_per_s) + " " + unit + "\n" +
          aligned({{"GPUs compute", percent_text(1 - fetch_stall(rates) - prep_stall(rates))},
                   {"they wait for preparation", percent_text(prep_stall(rates))},
                   {"they wait for storage", percent_text(fetch_stall(rates))}});
  std::vector<std::vector<std::string>> rows = {{"", unit, "speed-up", "fetch stall", "prep stall", "from memory"},
                                                row("as it is", rates, rates)};
  for (const DataWhatIf& one : s.what_ifs) rows.push_back(row(one.name, one.rates, rates));
  return text + needs_text(s) + "\nWhat if\n" + aligned(rows);
}

std::string to_json(const DataStalls& s) {
  Json object = {{"experiment", s.experiment},
                 {"description", s.description},
                 {"settings", s.settings},
                 {"sample_unit", s.sample_unit},
                 {"iteration_s", seconds(s.job.iteration)},
                 {"base", json_of(s.rates)},
                 {"prepared_samples_per_s", s.prepared_samples_per_s},
                 {"fetched_samples_per_s", s.fetched_samples_per_s},
                 {"cores_needed", s.cores_needed}};
  object["memory_needed_bytes"] = s.memory_needed ? Json(s.memory_needed->value) : Json();
  object["storage_needed_bytes_per_s"] = s.storage_needed ? Json(s.storage_needed->value) : Json();
  object["what_ifs"] = Json::array();
  for (const DataWhatIf& one : s.what_ifs) {
    Json what = {{"name", one.name}};
    what.update(json_of(one.rates));
    object["what_ifs"].push_back(std::move(what));
  }
  return object.dump(2) + "\n";
}

}  // namespace uvmsim
