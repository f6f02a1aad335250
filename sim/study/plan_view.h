// What `uvmsim plan show` prints: an iteration as planners see it, and a plan against it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "plan/plan_checker.h"
#include "plan/profile.h"

namespace uvmsim {

// One idle interval, the largest first.
struct IntervalView {
  Interval interval;
  std::string kind;        // of the tensor
  std::string layer;       // that made it; "": none, or it was held before
  std::string last, next;  // kernels
  // Of the two copies, the share that the gap hides; 1: all of both. Without contention.
  double hidden = 0;
};

struct LayerView {
  std::string name;
  std::int32_t kernels = 0;
  Duration compute{};             // of its kernels
  std::int64_t feature_maps = 0;  // bytes that it makes and a later phase reads
  double share = 0;               // of all feature maps
  Duration transfer{};            // these out and in again
};

// Load while a part of the iteration runs.
struct LoadView {
  std::int32_t first = 0, outer = 0;  // kernels
  std::string phase;
  std::int64_t load = 0, floor = 0, planned = 0;  // bytes at most: as it is, with all moved that can be, under the plan
};

// Kernels that the trace knows other ways to run.
struct VariantsView {
  std::int32_t kernels = 0;
  Duration saved{};            // if each ran in its fastest way
  std::int64_t workspace = 0;  // bytes: the largest that this takes
};

struct PlanView {
  std::string workload;
  GpuIndex gpu{};
  IterationShape shape;
  Duration length{};  // of the iteration when everything fits
  std::int64_t memory = 0, peak = 0, floor = 0;
  std::vector<LoadView> load{};
  std::vector<IntervalView> intervals{};
  std::vector<LayerView> layers{};
  std::int64_t feature_maps = 0;  // bytes
  VariantsView variants{};
  std::optional<Plan> plan{};
  std::optional<PlanProof> proof{};  // of the plan
};

// `intervals`, `layers`: how many to list, those with the most bytes first; `parts`: into which the iteration is cut.
PlanView view_plan(const Profile& profile, const Plan* plan, const PlanLimits& limits, std::size_t intervals,
                   std::size_t layers, std::size_t parts);

std::string to_text(const PlanView& view);
std::string to_json(const std::vector<PlanView>& views);

}  // namespace uvmsim
