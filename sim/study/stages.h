// A program of several stages, one after the other: ETL, preparation, training. Each has an allocator and a memory of
// its own, because what one leaves is on the host and its pools are given back (RMM's finalize).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "metrics/result.h"
#include "report/pool_curve.h"
#include "study/experiment.h"

namespace uvmsim {

struct Stage {
  std::string name;
  std::int64_t repeats = 1;         // how often its iteration runs
  std::vector<std::size_t> run_of;  // of each GPU, the one of `runs` that is its own
  std::vector<Experiment> runs;     // of different inputs; each with all GPUs, as if all had that input
};

struct StageResult {
  std::string name, allocator, memory;
  std::int64_t repeats = 1;
  Outcome outcome = Outcome::Completed;  // of the first of its runs that did not complete
  std::string detail;
  double duration_s = 0;                     // of all repeats, on the slowest GPU; 0: it did not complete
  std::vector<std::int64_t> reserved_bytes;  // of each GPU, at most; 0 where it has nothing to do
  std::vector<PoolPoint> curve;              // of the GPU with the most of them; empty where a planner places tensors
  std::int64_t out_of_memory = 0;            // the event of that curve's allocator that found no memory; 0: none
};

struct StagesReport {
  Bytes memory, usable_memory;  // of a GPU
  std::vector<StageResult> stages;
};

// Each run in a process of its own. Throws UserError as make_trace does.
StagesReport run_stages(const std::vector<Stage>& stages);

std::string to_text(const StagesReport& report);
std::string to_json(const StagesReport& report);

}  // namespace uvmsim
