// What an iteration of one GPU would do if memory did not matter: what planners plan by.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/units.h"
#include "plan/iteration_graph.h"
#include "plan/kernel_starts.h"
#include "plan/link_model.h"
#include "trace/record.h"

namespace uvmsim {

// A tensor's bytes between two uses with at least one kernel between them.
struct Interval {
  std::int32_t tensor = 0;
  std::int32_t last_use = 0, next_use = 0;
  std::int64_t bytes = 0;
  bool wraps = false;  // into the next iteration
  bool dead = false;   // the next use overwrites all of it without reading it
  // `last_use` and the uses issued before it are over; the first of `next_use` and those issued after it starts, in the
  // iteration in which it does.
  Time over{}, needed{};
  Duration gap{};    // from the one to the other; negative: uses on several streams overlap
  Duration slack{};  // of the gap beyond what a copy out and one back in take; negative: the copies do not fit

  // Whether its bytes are not needed while kernel k runs.
  bool spans(std::int32_t k) const { return wraps ? k > last_use || k < next_use : k > last_use && k < next_use; }
};

struct Profile {
  std::shared_ptr<const IterationGraph> graph;
  GpuIndex gpu{};                     // of the machine
  std::int32_t iteration = 0;         // the one profiled, counted from 0
  KernelStarts starts{};              // since the iteration's begin
  std::vector<Interval> intervals{};  // by (tensor, last_use)
  Duration length{};                  // of the iteration
  LinkModel links{};                  // to the nearest host memory
  std::vector<NodeLink> nodes{};      // where tensors can go; empty: to the nearest host memory, which has no limit
  Bytes budget{};                     // device memory for tensors
  std::optional<double> sparsity{};   // of every tensor that codecs encode; nullopt: by SparsityTable

  const IterationShape& shape() const { return graph->shape; }
  Time start(std::int32_t kernel) const { return starts[kernel]; }
  Time end(std::int32_t kernel) const {
    return start(kernel) + graph->kernels[static_cast<std::size_t>(kernel)].duration;
  }
  // When the kernel after `kernel` starts; after the last one the iteration's end.
  Time next_start(std::int32_t kernel) const;
  std::int64_t peak() const { return graph->peak(); }
  // What is left at kernel k when everything is swapped that can be: no plan fits below the largest of these.
  std::vector<std::int64_t> floor() const;
};

struct ProfileSetting {
  Duration launch{};  // host time of one asynchronous call, at least
  LinkModel links{};
  std::vector<NodeLink> nodes{};
  Bytes budget{};
  std::optional<double> sparsity{};
};

// What plans can be for on one device: an iteration of each shape.
struct ShapeOfIteration {
  std::int32_t iteration = 0;  // the last one of the shape, counted from 0
  std::shared_ptr<const IterationGraph> graph;
};

// Of the iterations of device `device` of the trace: one per shape, of the last iteration of that shape, in the order
// in which the shapes first occur.
std::vector<ShapeOfIteration> shapes_of(const trace::Trace& trace, DeviceOrdinal device);

// The iteration on `gpu`, in the time of stream_clock.h.
Profile profile_of(const ShapeOfIteration& shape, GpuIndex gpu, const ProfileSetting& setting);

// The profiles of all shapes of device `device`, which runs on `gpu`.
std::vector<Profile> profile_iterations(const trace::Trace& trace, DeviceOrdinal device, GpuIndex gpu,
                                        const ProfileSetting& setting);

}  // namespace uvmsim
