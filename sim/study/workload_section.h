// The config's "workload" section: common keys besides those of the chosen generator.
#pragma once

#include "study/experiment.h"

namespace uvmsim {

struct CalibrateSection {
  std::string in_core;
};

// The common keys, as they are written; PlacementOptions is described next to it.
struct WorkloadSection {
  std::string generator;
  std::string trace;
  std::string calls;
  bool data_parallel = false;
  bool enable_peers = false;
  bool sync_gradients = false;
  Bytes sync_bucket{};
  int sync_every = 1;
  CalibrateSection calibrate;
};

const Description& describe_workload();
const Description& describe_calibrate();
const Description& describe_placement();
const Description& describe_stage();

// What kernel durations are scaled to, if anything; a fault at `place` if it cannot be read.
InCore read_in_core(const CalibrateSection& calibrate, const std::string& place, std::vector<InputError>& errors);

// Reads a "workload" section. Appends errors as read_described, for a generator that is not known, for both
// or neither of generator and trace, and for what the generator calls a contradiction.
WorkloadConfig read_workload(const JsonValue* value, const std::string& pointer, std::vector<InputError>& errors,
                             ResolvedConfig& resolved);

}  // namespace uvmsim
