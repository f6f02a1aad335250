// Generators answer "what ran?": from a few parameters to a trace.
#pragma once

#include <memory>

#include "base/describe.h"
#include "base/registry.h"
#include "machine/machine.h"
#include "trace/record.h"

namespace uvmsim {

// One kind of workload, with its parameters. Registered once per file in workload/generators/.
class Generator : public PlugIn {
 public:
  // The parameters are keys of the config's "workload" section, next to the common ones (WorkloadConfig).
  static constexpr KindText kKind{
      .name = "generator", .noun = "generator", .use = "workload.generator", .options = "workload"};

  // The GPU that the workload will run on, said before generate() by whoever knows it. Durations that depend on the
  // GPU are then this one's, unless a parameter names another.
  virtual void run_on(const GpuSpec&) {}

  // What sort of work it is, as far as errors of predictions depend on it: "training" of a network, "data frames", or
  // "kernels": a few kernels over a few arrays.
  virtual std::string_view sort() const { return "kernels"; }

  // What is wrong with the parameters taken together; empty: nothing.
  virtual std::vector<std::string> contradictions() const { return {}; }

  // `iterations` iterations, each opened by an Iteration record; what comes before the first is set-up.
  // Same parameters, same records. Kernel durations are the generator's own model (the header says which).
  virtual trace::Trace generate(int iterations) const = 0;
};

inline Registry<Generator>& generators() { return registry<Generator>(); }

}  // namespace uvmsim
