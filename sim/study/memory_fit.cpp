#include "study/memory_fit.h"

#include <algorithm>

#include "base/quantity.h"
#include "base/user_error.h"
#include "study/integer_parameter.h"
#include "study/setup.h"
#include "study/simulate.h"
#include "trace/reader.h"
#include "workload/iterations.h"
#include "workload/repeat.h"

namespace uvmsim {
namespace {

// The second iteration meets the state that the first left behind; in the third every pool has its final size.
constexpr int kIterations = 3;
constexpr std::int64_t kTries = 128;            // batches tried between the largest found by bisection and its bound
constexpr std::int64_t kNeighbours = 2;         // batches tried below the largest found
constexpr std::int64_t kSizeUnit = 10'000'000;  // sizes are varied in steps of this many bytes
constexpr std::int64_t kPoolSteps = 20;         // initial pools are varied in this many parts of the GPU's memory
const std::string kInitialPool = "initial_pool";

trace::Trace trace_of(const WorkloadConfig& workload) {
  if (workload.parameters) return workload.parameters->generate(kIterations);
  const trace::Trace trace = trace::read_trace(workload.trace);
  return repeat_last_iteration(trace, has_iterations(trace) ? kIterations : 1);
}

// Pools waste more of some batches than of larger ones, so what bisection finds is only a start. No batch beyond the
// last whose live bytes alone fit can do; between the two, the largest of up to kTries is tried first.
template <class Fits, class LiveFits>
void find_largest_batch(const IntegerParameter& key, Fits&& fits, LiveFits&& live_fits, MemoryFit& out) {
  const std::int64_t found = largest_value(key, key.given(), fits);
  const std::int64_t bound = largest_value(key, std::max(found, key.smallest()), live_fits);
  const std::int64_t stride = std::max<std::int64_t>(1, (bound - found) / kTries);
  std::int64_t largest = bound;
  while (largest > found && !fits(largest)) largest -= stride;
  largest = std::max(largest, found);
  out.monotonic = largest == found;
  for (std::int64_t below = largest - 1; below >= std::max(largest - kNeighbours, key.smallest()); --below)
    if (!fits(below)) out.monotonic = false;
  out.largest_batch = largest;
}

// The largest value of `name` with which the workload fits, if it has such a parameter.
void find_largest(const Experiment& experiment, const PlacementOptions& placement, const std::string& name,
                  MemoryFit& out) {
  IntegerParameter key(experiment.workload.parameters.get(), name, kSizeUnit);
  if (!key.exists()) return;
  const auto fits = [&](std::int64_t value) {
    return key.set(value) && !place(trace_of(experiment.workload), placement).out_of_memory;
  };
  const std::int64_t found = largest_value(key, key.given(), fits);
  const auto text = [&](std::int64_t value) {
    return key.counts_bytes() ? to_text(Bytes{value * kSizeUnit}) : std::to_string(value);
  };
  out.largest.push_back({name, text(key.given()), found > 0 ? text(found) : ""});
}

// The placement with another initial pool; nullptr: its allocator has none.
std::shared_ptr<const AllocatorFactory> with_pool(const PlacementOptions& placement, Bytes pool) {
  const std::shared_ptr<AllocatorFactory> made = allocators().find(placement.allocator)->make();
  const auto [description, object] = made->parameters();
  const FieldInfo* initial = description->find(kInitialPool);
  if (initial == nullptr) return nullptr;
  if (placement.kind)
    for (const FieldInfo& field : description->fields)
      if (field.kind == FieldInfo::Kind::ByteCount)
        *static_cast<Bytes*>(field.locate(object)) = *static_cast<const Bytes*>(
            field.locate(std::const_pointer_cast<AllocatorFactory>(placement.kind)->parameters().object));
  *static_cast<Bytes*>(initial->locate(object)) = pool;
  return made->contradictions("device").empty() ? made : nullptr;
}

// The largest initial pool, in steps of a twentieth of the GPU's memory, with which the workload fits.
void find_largest_pool(const trace::Trace& trace, PlacementOptions placement, MemoryFit& out) {
  const PlacementOptions given = placement;
  if (with_pool(given, {}) == nullptr) return;
  MemoryFit::Largest of{"allocator_options." + kInitialPool, "0 B", ""};
  if (given.kind) {
    const auto [description, object] = std::const_pointer_cast<AllocatorFactory>(given.kind)->parameters();
    of.given = to_text(*static_cast<const Bytes*>(description->find(kInitialPool)->locate(object)));
  }
  for (std::int64_t share = kPoolSteps - 1; share > 0 && of.largest.empty(); --share) {
    const Bytes pool = given.gpu_memory * share / kPoolSteps;
    placement.kind = with_pool(given, pool);
    if (placement.kind && !place(trace, placement).out_of_memory) of.largest = to_text(pool);
  }
  out.largest.push_back(std::move(of));
}

// Of the workload as it is.
MemoryFit fit_of(const trace::Trace& trace, PlacementOptions placement) {
  MemoryFit out;
  out.allocator = placement.allocator;
  on_device(placement);
  const Bytes usable = placement.device_capacity;
  const Program limited = place(trace, placement);
  out.fits = !limited.out_of_memory;
  out.detail = limited.out_of_memory_detail;
  if (out.fits) {
    out.peak_live = {limited.allocator.peak_live_bytes};
    out.peak_reserved = {limited.allocator.peak_reserved_bytes};
  } else {
    placement.device_capacity = {};
    const Program unlimited = place(trace, placement);
    out.peak_live = {unlimited.allocator.peak_live_bytes};
    out.peak_reserved = {unlimited.allocator.peak_reserved_bytes};
  }
  out.oversubscription = static_cast<double>(out.peak_reserved.value) / static_cast<double>(usable.value);
  return out;
}

// With the largest batch.
MemoryFit fit_with(const Experiment& experiment, const trace::Trace& trace, PlacementOptions placement) {
  MemoryFit out = fit_of(trace, placement);
  on_device(placement);
  for (const char* name : {"part_bytes", "parts"}) find_largest(experiment, placement, name, out);
  find_largest_pool(trace, placement, out);
  const Bytes usable = placement.device_capacity;
  IntegerParameter batch(experiment.workload.parameters.get(), "batch");
  if (!batch.exists()) return out;
  out.batch = batch.given();
  PlacementOptions unlimited = placement;
  unlimited.device_capacity = {};
  const auto fits = [&](std::int64_t size) {
    if (size == batch.given()) return out.fits;
    return batch.set(size) && !place(trace_of(experiment.workload), placement).out_of_memory;
  };
  const auto live_fits = [&](std::int64_t size) {
    return batch.set(size) && place(trace_of(experiment.workload), unlimited).allocator.peak_live_bytes <= usable.value;
  };
  find_largest_batch(batch, fits, live_fits, out);
  return out;
}

}  // namespace

MemoryFit fit_as_it_is(const Experiment& experiment) {
  return fit_of(trace_of(experiment.workload), placement_of(experiment));
}

MemoryFitReport fit_memory(const Experiment& experiment, const std::vector<std::string>& allocator_names) {
  std::vector<InputError> errors;
  for (const std::string& name : allocator_names)
    if (!allocators().has(name)) errors.push_back(allocators().unknown("--allocators", name));
  if (!errors.empty()) throw UserError("fit", std::move(errors));

  PlacementOptions placement = placement_of(experiment);
  const trace::Trace trace = trace_of(experiment.workload);
  MemoryFitReport report{.experiment = experiment.name,
                         .description = experiment.description,
                         .setup = setup_of(experiment, trace),
                         .usable_memory = placement.device_capacity,
                         .fits = {}};
  const std::string own = placement.allocator;
  for (const std::string& name : allocator_names.empty() ? std::vector{own} : allocator_names) {
    placement.allocator = name;
    placement.kind = name == own ? experiment.workload.placement.kind : nullptr;
    report.fits.push_back(fit_with(experiment, trace, placement));
  }
  return report;
}

}  // namespace uvmsim
