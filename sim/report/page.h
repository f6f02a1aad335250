// The page of `uvmsim report`: one HTML file that needs nothing else.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace uvmsim {

struct PageRun {
  std::string name;
  nlohmann::ordered_json result;        // what `uvmsim run --json` prints
  nlohmann::ordered_json observations;  // observations.json of a result folder, or null
};

struct Page {
  std::string title;
  std::vector<PageRun> runs;
  std::vector<nlohmann::ordered_json> sweeps;         // of sweep_pages
  std::vector<nlohmann::ordered_json> comparisons;    // what `uvmsim compare --json` prints
  std::vector<nlohmann::ordered_json> validations;    // what `uvmsim validate --json` prints
  std::vector<nlohmann::ordered_json> advices = {};   // what `uvmsim advise --json` prints
  std::vector<nlohmann::ordered_json> analyses = {};  // what `uvmsim analyse --json` prints
};

// The sweeps of a sweep folder: `csv` is its sweep.csv (sim/study/SWEEP.md). One object per sweep, with the swept keys
// as axes and a point per row. nullopt when `csv` has no such columns.
std::optional<std::vector<nlohmann::ordered_json>> sweep_pages(std::string_view csv, const std::string& name);

// The page, with its script and style in it. Without JavaScript it shows the numbers that matter and a picture.
std::string to_html(const Page& page);

}  // namespace uvmsim
