// What others measured: validation/measurements.json, and what each of its values is used for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json_document.h"

namespace uvmsim {

struct Measurement {
  std::string id;
  std::string source;
  std::string gpu;
  std::string metric;
  std::string unit;                         // one of unit_factor
  double value = 0;                         // in `unit`
  std::string uncertainty;                  // in the source's words
  std::optional<double> uncertainty_share;  // as a share of the value, where the source states it
  std::string trust;                        // one of kTrusts
  std::string note;
};

// How a value came to us.
//   raw      output of a tool, of one run        table    printed in a document
//   figure   read off a plot                     derived  computed from raw numbers
inline const std::vector<std::string> kTrusts = {"raw", "table", "figure", "derived"};

// Reads `path`. Throws UserError with every fault.
std::vector<Measurement> read_measurements(const std::string& path, const FileLoader& load);

}  // namespace uvmsim
