// Does a workload fit in GPU memory, and what is the largest batch that does? No time is simulated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/report.h"
#include "study/experiment.h"

namespace uvmsim {

// What one allocator makes of the workload on the machine's smallest GPU. Memory is of one process.
struct MemoryFit {
  std::string allocator;
  Bytes peak_live;      // asked for and not freed, at most; with as much memory as it takes
  Bytes peak_reserved;  // held by the allocator, at most; the same
  bool fits = false;    // with cudaMalloc
  std::string detail;   // why not

  // What cudaMallocManaged of the same would oversubscribe: peak_reserved over the usable memory.
  double oversubscription = 0;

  // Of part_bytes and parts, where the workload has them, and of its allocator's initial pool, if it has one (in steps
  // of a twentieth of the GPU's memory): keys of the section workload, each alone, the others as given.
  struct Largest {
    std::string parameter, given, largest;  // as a configuration writes them; "": not even the smallest fits
  };
  std::vector<Largest> largest = {};

  // Of workload.batch; nullopt where the workload has none. 0: not even the smallest.
  std::optional<std::int64_t> batch;
  std::optional<std::int64_t> largest_batch;
  // False when a batch below `largest_batch` was found that does not fit: of those tried (see memory_fit.cpp) it is
  // then the largest that does.
  bool monotonic = true;
};

struct MemoryFitReport {
  std::string experiment, description;
  Setup setup;
  Bytes usable_memory;  // of the smallest GPU
  std::vector<MemoryFit> fits;
};

// `allocator_names`: those to compare, with their default parameters except the experiment's own; empty: the
// experiment's. Throws UserError for a name that is not registered and as make_trace does.
MemoryFitReport fit_memory(const Experiment& experiment, const std::vector<std::string>& allocator_names);

// The experiment's allocator alone, without looking for the largest batch. Throws UserError as make_trace.
MemoryFit fit_as_it_is(const Experiment& experiment);

std::string to_text(const MemoryFitReport& report);
std::string to_json(const MemoryFitReport& report);

}  // namespace uvmsim
