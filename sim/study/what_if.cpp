#include "study/what_if.h"

#include <algorithm>

#include "report/json.h"
#include "study/shared_work.h"
#include "study/simulate.h"
#include "study/sweep/point_workers.h"

namespace uvmsim {
namespace {

constexpr const char* kMemory = "memory";

trace::Trace transformed(const std::vector<NamedTransform>& parts, const Experiment& experiment, trace::Trace trace) {
  for (const NamedTransform& part : parts) trace = transformed(*part.transform, experiment, std::move(trace));
  return trace;
}

// Why the transforms, one after the other, do not apply; "": they do.
std::string excluded(const std::vector<NamedTransform>& parts, const Experiment& experiment,
                     const trace::Trace& trace) {
  try {
    check_devices(experiment, transformed(parts, experiment, trace));
    return "";
  } catch (const UserError& error) {
    std::string reasons;
    for (const InputError& e : error.errors()) reasons += (reasons.empty() ? "" : "; ") + e.message;
    return reasons;
  }
}

class Simulations {
 public:
  Simulations(const Experiment& experiment, const trace::Trace& trace, const WhatIfOptions& options)
      : experiment_(experiment), trace_(trace), options_(options) {}

  void run(const std::vector<WhatIf*>& of) const {
    const auto simulate = [&](std::size_t point) {
      const WorkSlot slot;
      const WhatIf& what = *of[point];
      if (what.name == kMemory) return to_json(run_in_core(experiment_, trace_));
      return to_json(run_experiment(experiment_, transformed(what.parts, experiment_, trace_)));
    };
    const auto note = [&](const PointOutcome& outcome) {
      WhatIf& what = *of[outcome.point];
      what.result = handed_over(outcome, what.error);
    };
    run_points(of.size(), simulate, std::max(options_.processes, 1), {.timeout = options_.timeout, .memory = {}}, note,
               options_.watch);
  }

 private:
  const Experiment& experiment_;
  const trace::Trace& trace_;
  const WhatIfOptions& options_;
};

std::vector<WhatIf> candidates(const Experiment& experiment, const trace::Trace& trace,
                               const std::vector<NamedTransform>& also) {
  std::vector<WhatIf> all = {{.name = kMemory,
                              .summary = "unlimited GPU memory, and nothing that is done only because memory is short",
                              .costs = "a GPU with more memory",
                              .excluded = ""}};
  std::vector<NamedTransform> parts = also;
  for (const auto& [name, entry] : transforms().entries()) parts.push_back({name, entry.make()});
  for (const NamedTransform& part : parts) {
    const PlugInText& text = *transforms().find(part.name.substr(0, part.name.find(':')));
    all.push_back({.name = part.name,
                   .summary = text.summary,
                   .costs = text.on_hardware,
                   .excluded = excluded({part}, experiment, trace),
                   .parts = {part}});
  }
  return all;
}

// Of those that are faster than the workload as it is, in the order of `all`; what does not apply after those before it
// is left out.
WhatIf composition(const WhatIfs& what_ifs, const Experiment& experiment, const trace::Trace& trace, int top) {
  WhatIf composed{.name = "together", .summary = "the best of them, one after the other", .costs = "", .excluded = ""};
  for (const WhatIf& one : what_ifs.all) {
    if (std::ssize(composed.parts) == top) break;
    if (one.name == kMemory || what_ifs.speedup(one) <= 1) continue;
    composed.parts.push_back(one.parts.front());
    if (!excluded(composed.parts, experiment, trace).empty()) composed.parts.pop_back();
  }
  if (composed.parts.empty()) composed.excluded = "none of them gains anything";
  return composed;
}

}  // namespace

WhatIfs what_if(const Experiment& experiment, const WhatIfOptions& options) {
  const trace::Trace trace = make_trace(experiment);
  WhatIfs found{.experiment = experiment.name,
                .description = experiment.description,
                .settings = options.settings,
                .base = {.name = "", .summary = "as it is", .costs = "", .excluded = ""},
                .all = candidates(experiment, trace, options.also)};
  const Simulations simulations(experiment, trace, options);
  std::vector<WhatIf*> points = {&found.base};
  for (WhatIf& one : found.all)
    if (one.excluded.empty()) points.push_back(&one);
  simulations.run(points);
  std::ranges::stable_sort(found.all, {}, &WhatIf::sample_s);
  if (options.top > 0) {
    found.composed = composition(found, experiment, trace, options.top);
    if (found.composed->excluded.empty()) simulations.run({&*found.composed});
  }
  return found;
}

void add_bands(WhatIfs& what_ifs, const PublishedErrors& errors, const Machine& machine) {
  const auto add = [&](WhatIf& of) {
    if (of.completed()) of.band = band_of(errors, machine, of.result->gpus, of.result->duration_s);
  };
  add(what_ifs.base);
  for (WhatIf& one : what_ifs.all) add(one);
  if (what_ifs.composed) add(*what_ifs.composed);
}

}  // namespace uvmsim
