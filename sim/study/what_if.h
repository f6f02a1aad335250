// "How will optimisation X affect my program?" asked of every transform: the workload as each would make it, next to
// the workload as it is.
#pragma once

#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "metrics/result.h"
#include "study/experiment.h"
#include "study/sweep/point_workers.h"
#include "study/validation/results_page.h"

namespace uvmsim {

// A transform with its parameters, under the name that it goes by in a table.
struct NamedTransform {
  std::string name;
  std::shared_ptr<const Transform> transform;
};

struct WhatIf {
  std::string name;      // of a transform; "memory": unlimited GPU memory; "": the workload as it is
  std::string summary;   // what it is,
  std::string costs;     // and what it takes on hardware
  std::string excluded;  // why it does not apply; "": it does
  std::optional<Result> result = {};
  std::string error = {};                  // without a result: what went wrong
  std::optional<Band> band = {};           // of its iteration time
  std::vector<NamedTransform> parts = {};  // in the order in which they are applied

  bool completed() const { return result && result->outcome == Outcome::Completed; }
  double duration_s() const { return completed() ? result->duration_s : std::numeric_limits<double>::infinity(); }
  // Of a sample; of an iteration where those are not counted. A pipeline has several micro-batches in one.
  double sample_s() const { return completed() && result->samples > 0 ? duration_s() / result->samples : duration_s(); }
};

struct WhatIfs {
  std::string experiment, description;
  std::vector<std::string> settings;  // KEY=VALUE, of the user
  WhatIf base;
  std::vector<WhatIf> all;  // the fastest first; those that do not apply last, by name
  std::optional<WhatIf> composed = {};

  // How many times as fast as the workload as it is; 0: not known.
  double speedup(const WhatIf& of) const {
    return base.completed() && of.completed() ? base.sample_s() / of.sample_s() : 0;
  }
};

struct WhatIfOptions {
  int processes = 1;                   // at a time
  std::chrono::seconds timeout{3600};  // of one simulation; the others go on
  int top = 0;                         // also the composition of this many of those that gain most; 0: none
  std::vector<std::string> settings = {};
  std::vector<NamedTransform> also = {};  // besides all transforms with their default parameters
  PointWatch watch = {};
};

// Simulates the experiment, with unlimited memory, and with each transform and its default parameters, each in a
// process of its own. Call before the engine is used. UserError as make_trace.
WhatIfs what_if(const Experiment& experiment, const WhatIfOptions& options);

void add_bands(WhatIfs& what_ifs, const PublishedErrors& errors, const Machine& machine);

std::string to_text(const WhatIfs& what_ifs);
// One JSON object; the same input gives the same bytes.
std::string to_json(const WhatIfs& what_ifs);

}  // namespace uvmsim
