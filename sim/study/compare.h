// One workload under several policies, next to the same workload with enough GPU memory.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/result.h"
#include "report/report.h"
#include "study/experiment.h"
#include "study/policy_file.h"
#include "study/sweep/point_workers.h"
#include "study/validation/results_page.h"

namespace uvmsim {

struct PolicyExperiment {
  PolicyFile policy;
  Experiment experiment;  // with the policy's settings
};

// A policy with another memory than the experiment's.
struct MemoryPoint {
  bool completed() const { return result && result->outcome == Outcome::Completed; }
  std::string family() const { return result ? result->plan.family : ""; }  // of the plans; "": there were none

  std::optional<Result> result = {};  // nullopt: the simulation failed,
  std::string error = {};             // like this
};

struct PolicyResult {
  // A planner whose plan is for explicit memory alone, on managed memory: there is no such policy.
  bool exists() const { return !result || result->outcome != Outcome::NotManaged; }
  bool completed() const { return result && result->outcome == Outcome::Completed; }
  std::string family() const { return result ? result->plan.family : ""; }  // as of MemoryPoint
  // Infinite when it did not complete.
  double duration_s() const { return completed() ? result->duration_s : std::numeric_limits<double>::infinity(); }

  PolicyFile policy;
  std::optional<Result> result;   // nullopt: the simulation failed,
  std::string error;              // like this
  std::optional<Band> band = {};  // of its iteration time
  // Standard deviation of ln(predicted / true) of the ratio of the times of this and Comparison::told_apart_from(), and
  // whether the ratio is beyond its own band: whether the two are told apart.
  double speedup_spread = 0;
  bool told_apart = true;
  std::optional<PlanNeed> need = {};     // of a planner on explicit memory
  std::vector<MemoryPoint> points = {};  // by Comparison::memories
};

struct Comparison {
  std::string experiment, description;
  Setup setup = {};                  // before any policy
  bool managed = false;              // under some policy memory is managed
  bool ranked = false;               // the table has the fastest first, not the first given
  std::vector<Bytes> memories = {};  // usable on each GPU, ascending, besides the experiment's own
  // cudaMalloc instead of managed memory, on GPUs that are large enough; nullopt: nothing is managed.
  std::optional<PolicyResult> cuda_malloc = {};
  PolicyResult in_core;                // unlimited GPU memory, no policy
  std::vector<PolicyResult> policies;  // in the order in which they were given

  // What slowdowns are against: without managed memory in core is the same.
  const PolicyResult& reference() const { return cuda_malloc ? *cuda_malloc : in_core; }

  // Whom the others are told apart from: the fastest of a ranked table, else the first.
  const PolicyResult& told_apart_from() const {
    return ranked ? *std::ranges::min_element(policies, {}, &PolicyResult::duration_s) : policies.front();
  }
};

// Usable memory of each GPU: bytes, or a share of what an iteration holds without a plan.
struct MemoryAmount {
  Bytes bytes{};
  double share = 0;  // 0: `bytes` counts
};
constexpr double kMostMemoryShare = 4;  // more is rather a percentage or a size without its unit
// "0.5" or "8 GB"; nullopt for anything else, a share beyond kMostMemoryShare, and nothing or less.
std::optional<MemoryAmount> parse_memory_amount(std::string_view text);

// The fastest policy of one family of plans with one memory.
struct FrontierPoint {
  std::size_t memory = 0;  // into Comparison::memories
  std::string family;
  const PolicyResult* policy = nullptr;
  const MemoryPoint* point = nullptr;
  bool fastest = false;  // of all families
};

// Of the families of plans, by memory: those that completed. Empty without memories or planners.
std::vector<FrontierPoint> frontier_of(const Comparison& comparison);

struct CompareOptions {
  int processes = 1;                        // at a time, with what they start
  std::chrono::seconds timeout{3600};       // of one simulation, its plan included; the others go on
  std::vector<MemoryAmount> memories = {};  // each policy is also simulated with these
  PointWatch watch = {};
};

// Simulates the references of `base`, and each of `policies`, on the trace of `base`, and finds what planners on
// explicit memory need; each in a process of its own. What several ask for is done once (shared_work.h). Call before
// the engine is used. UserError when the trace or a policy's calls are refused.
Comparison compare(const Experiment& base, const std::vector<PolicyExperiment>& policies,
                   const CompareOptions& options);

// Bands of the iteration times, and of what the policies differ by.
void add_bands(Comparison& comparison, const PublishedErrors& errors, const Machine& machine);

// A table of all policies, what each takes on hardware, and what stands for more than the policies themselves.
std::string to_text(const Comparison& comparison);

// The same as one JSON object (configs/policies/README.md); the same comparison gives the same bytes.
std::string to_json(const Comparison& comparison);

}  // namespace uvmsim
