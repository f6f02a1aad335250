// What views look at: a trace, the iteration of each device that stands for it, and the machine where that matters.
#pragma once

#include <string>
#include <vector>

#include "base/units.h"
#include "memory/allocator.h"
#include "plan/profile.h"
#include "plan/swap_schedule.h"
#include "trace/record.h"

namespace uvmsim {

// A GPU that a model may be put on.
struct GpuCapacity {
  std::string name;
  Bytes memory{};
};

struct ViewSetting {
  // Copies between the GPU and host memory. Default: bandwidthTest of the authors' machine (Pinpointing the Memory
  // Behaviors of DNN Training, ISPASS 2021, section IV).
  LinkModel links{.out = {6'400'000'000}, .in = {6'300'000'000}};
  Duration launch{};                // host time of one asynchronous call, at least
  std::vector<NodeLink> nodes{};    // where checkpoints can go; empty: to host memory
  PlacementOptions placement{};     // how allocations get addresses; nothing runs out of memory
  std::vector<GpuCapacity> gpus{};  // what the model is held against
};

// The iteration of one device that views look at, at the times that it has when everything fits (plan/profile.h).
struct ObservedIteration {
  DeviceOrdinal device{};
  IterationRecords records;
  Profile profile;

  const IterationGraph& graph() const { return *profile.graph; }
};

struct ViewInput {
  // Keeps a reference to `trace`, which is valid. Of each device with kernels: the last iteration that is not broken
  // off, which has at least half as many kernels as the largest. A trace that marks none is one iteration.
  ViewInput(const trace::Trace& trace, ViewSetting setting = {});

  const trace::Trace& trace;
  ViewSetting setting;
  std::vector<ObservedIteration> iterations;  // by device
};

// The time between two kernels that use a tensor, one after the other; 0 where they follow each other at once.
struct AccessInterval {
  std::int32_t tensor = 0;
  std::int32_t last_use = 0, next_use = 0;  // kernels
  bool wraps = false;                       // into the next iteration
  Duration idle{};
};

// All of them, by tensor. Profile::intervals has only those with a kernel in between.
std::vector<AccessInterval> access_intervals(const Profile& profile);

// The most bytes that can go out and come back in `idle`: idle / (1 / out + 1 / in). Source: Pinpointing the Memory
// Behaviors of DNN Training, ISPASS 2021, equation 1. Without latencies; nothing when a rate is unlimited.
double swappable_bytes(Duration idle, const LinkModel& links);

// Where a tensor was made; "" where the trace does not say. What it is: kind_of (plan/swap_schedule.h).
std::string layer_of(const IterationGraph& graph, std::int32_t tensor);

}  // namespace uvmsim
