// What runs are like, as far as errors of predictions depend on it, and which measured runs are most like a given one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/report.h"
#include "study/experiment.h"

namespace uvmsim {

// Runs that differ in nothing but how much memory they take.
struct RunTraits {
  std::string gpu;           // GpuSpec::name of the first
  std::string architecture;  // and its GpuSpec::architecture
  std::string driver;        // its version
  std::string workload;      // a generator
  std::string sort;          // Generator::sort; "" of a trace that no generator made
  bool managed = false;      // cudaMallocManaged, else cudaMalloc
  int gpus = 1;
  // Memory that a process reserves on a GPU over that GPU's usable memory: above 1 it is oversubscribed.
  double least_memory = 0, most_memory = 0;

  bool oversubscribed() const { return managed && most_memory > 1; }
};

// `workload`: what made the trace, as its header says; `gpus`: that ran; `reserved_bytes`: of one process.
RunTraits traits_of(const Experiment& experiment, std::string_view workload, std::size_t gpus,
                    std::int64_t reserved_bytes);

// What validation/results.json says about a family that judges.
struct FamilyErrors {
  std::string family, title;
  int values = 0;
  double median_error = 0, worst_error = 0, bias = 0;
  std::vector<RunTraits> runs;
};

// The family whose runs are most like `run`: first by what decides which mechanisms work (managed memory,
// oversubscription, the sort of workload), then by GPU, workload, amount of memory, number of GPUs and driver. Warnings
// name what no family covers. `families` is not empty.
Trust trust_in(const RunTraits& run, const std::vector<FamilyErrors>& families);

}  // namespace uvmsim
