// Simulates the runs of validation cases, several at a time, each in a process of its own.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "metrics/result.h"
#include "study/validation/case_family.h"

namespace uvmsim {

struct RunCasesOptions {
  int processes = 1;                  // at a time
  std::chrono::seconds timeout{900};  // of one run
  std::string cache;                  // a folder of results of earlier calls of this very program; "": none
  // Called five times a second: how many runs' worth of work is done, parts of those that are being made included; how
  // many runs are done, of how many, and one that is being made.
  std::function<void(double work, std::size_t done, std::size_t all, const std::string& current)> progress = {};
  // Asked as often: whether to stop. Runs that are not done then are "interrupted". Empty: never.
  std::function<bool()> stopped = {};
};

// A result, or why there is none: the model refused the workload, the simulation failed or took too long.
using RunResult = std::variant<Result, std::string>;
// By CaseRun::identity.
using RunResults = std::map<std::string, RunResult, std::less<>>;

// The results of all runs of `families`; runs that simulate the same are made once. Call before the engine is used,
// and from the only thread. Throws std::system_error when no process can be started.
RunResults run_cases(const std::vector<CaseFamily>& families, const RunCasesOptions& options);

}  // namespace uvmsim
