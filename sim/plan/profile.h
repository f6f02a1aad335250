// What an iteration of one GPU would do if memory did not matter: what planners plan by.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "plan/plan.h"
#include "trace/record.h"

namespace uvmsim {

// The path between a GPU and pinned host memory, as nobody else uses it.
struct LinkModel {
  BytesPerSecond out{}, in{};  // 0: infinitely fast
  Duration latency{};          // of each copy

  Duration out_time(std::int64_t bytes) const { return latency + transfer_time(Bytes{bytes}, out); }
  Duration in_time(std::int64_t bytes) const { return latency + transfer_time(Bytes{bytes}, in); }
};

struct ProfiledKernel {
  std::string name;
  std::int32_t stream = 0;
  std::int32_t phase = -1;  // into Profile::phases; -1: none
  Duration duration{};
  Time start{};  // since the iteration's begin
};

struct ProfiledTensor {
  std::int64_t bytes = 0;  // as it is held: held_bytes() of what was asked for
  std::uint8_t kind = 0;   // into Header::kinds
  // Memory is held for kernels in [first, outer): allocated before kernel `first`, freed before the launch of `outer`
  // at the earliest. Held tensors have first 0; what the iteration does not free has outer = number of kernels.
  std::int32_t first = 0, outer = 0;
  bool freed = false;              // by the iteration
  std::vector<std::int32_t> uses;  // kernels, ascending. A copy or collective between two kernels counts as both
};

// A tensor's bytes between two uses with at least one kernel between them.
struct Interval {
  std::int32_t tensor = 0;
  std::int32_t last_use = 0, next_use = 0;
  std::int64_t bytes = 0;
  bool wraps = false;  // into the next iteration
  bool dead = false;   // the next use overwrites all of it without reading it
  Duration gap{};      // from the end of `last_use` to the start of `next_use`
  Duration slack{};    // of the gap beyond what a copy out and one back in take; negative: the copies do not fit

  // Whether its bytes are not needed while kernel k runs.
  bool spans(std::int32_t k) const { return wraps ? k > last_use || k < next_use : k > last_use && k < next_use; }
};

struct Profile {
  std::string workload;
  std::int32_t gpu = 0;  // of the machine
  IterationShape shape{};
  std::int32_t iteration = 0;  // the one profiled, counted from 0
  std::vector<std::string> phases{}, kinds{};
  std::vector<ProfiledKernel> kernels{};
  std::vector<ProfiledTensor> tensors{};  // by ordinal (plan.h)
  std::vector<Interval> intervals{};      // by (tensor, last_use)
  std::vector<std::int64_t> load{};       // bytes held while each kernel is prepared and runs, at most
  std::vector<std::int32_t> layer_ends{};
  Duration length{};  // of the iteration
  LinkModel links{};
  Bytes budget{};  // device memory for tensors

  std::int64_t peak() const;
  // What is left at kernel k when everything is swapped that can be: no plan fits below the largest of these.
  std::vector<std::int64_t> floor() const;
  // The first kernel of the phase `name`; -1: there is none.
  std::int32_t first_kernel_of(const std::string& name) const;
};

// The bytes that an allocation of `asked` holds: whole units of 512, as PyTorch's caching allocator rounds them.
// Fragmentation is not modelled.
constexpr std::int64_t held_bytes(std::int64_t asked) { return (asked + 511) / 512 * 512; }

// Whether the allocation is one of the device's tensors in plans.
bool counts_in_plans(const trace::Alloc& alloc, int device);

struct ProfileSetting {
  Duration launch{};  // host time of one asynchronous call, at least
  LinkModel links{};
  Bytes budget{};
};

// Profiles of the iterations of device `device` of the trace, which runs on `gpu`: one per shape, of the last iteration
// of that shape, in the order in which the shapes first occur. Allocations count that are in device memory or name no
// space. Kernels run one after the other in issue order, none before the host has launched it; copies on their
// streams take their time in between, collectives take none.
std::vector<Profile> profile_iterations(const trace::Trace& trace, int device, int gpu, const ProfileSetting& setting);

}  // namespace uvmsim
