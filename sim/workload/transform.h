// Transforms answer "what if another program had run?": from a trace to a trace. One file each in workload/transforms/.
#pragma once

#include <cstdint>
#include <utility>

#include "base/registry.h"
#include "machine/machine.h"
#include "trace/record.h"

namespace uvmsim {

class Transform : public PlugIn {
 public:
  // Parameters are keys next to "name" of an element of the config's "workload.transforms".
  static constexpr KindText kKind{
      .name = "transform", .noun = "transform", .use = "workload.transforms", .options = "workload.transforms.0"};

  // The changed trace, which is valid if `trace` is. The same trace and parameters, the same trace.
  // Throws UserError, whose text is a reason, when there is nothing in `trace` that the parameters select.
  virtual trace::Trace apply(trace::Trace trace) const = 0;
  // The same of a program that runs on `gpu`, for transforms that ask what it has.
  virtual trace::Trace apply_on(trace::Trace trace, const GpuSpec&) const { return apply(std::move(trace)); }
  // What the changed program makes no sense without.
  enum class Needs : std::uint8_t {
    Nothing,
    DeviceMemory,  // it copies tensors to the host and back itself
    Replicas,      // it passes on what several GPUs have made
  };
  virtual Needs needs() const { return Needs::Nothing; }
};

inline Registry<Transform>& transforms() { return registry<Transform>(); }

}  // namespace uvmsim
