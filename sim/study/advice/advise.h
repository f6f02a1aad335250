// Will it fit, how slow is it if not, and what should change?
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "report/report.h"
#include "study/advice/candidates.h"
#include "study/validation/results_page.h"

namespace uvmsim {

// A candidate, simulated.
struct Trial {
  bool completed() const { return result && result->outcome == Outcome::Completed; }

  Candidate candidate = {};
  bool tried = false;  // false: there was no time left
  std::optional<Result> result = {};
  std::string error = {};              // why there is no result
  std::optional<Band> band = {};       // of its iteration time
  double gain = 0;                     // samples per second over those of demand paging; 0: not known
  double gain_low = 0, gain_high = 0;  // the band of the gain; 0: no errors are published
  bool told_apart = true;              // whether 1 is outside the band
};

struct Advice {
  std::string experiment, description;
  Setup setup;
  std::string command;  // what repeats the experiment, "uvmsim run bert_large"
  double budget_s = 0;
  std::int64_t need_bytes =
      0;              // that the allocator reserves: with cudaMalloc where it fits, else with as much as it takes
  bool fits = false;  // with cudaMalloc on the smallest GPU
  std::optional<std::int64_t> batch = {};          // nullopt: the workload has none
  std::optional<std::int64_t> largest_batch = {};  // that fits, 0: none; nullopt: not found in the time
  Trial in_core = {}, now = {};                    // unlimited memory; demand paging as the experiment says
  std::vector<Trial> trials = {};                  // in the order in which they were to be tried

  // Of those of another batch, and of what runs now, the one with the most samples per second; nullptr: not known.
  const Trial* best_batch() const;
  // The trials that gain by more than the error, best first; those that gain as much keep their order.
  std::vector<const Trial*> gains() const;
};

struct AdviceOptions {
  int processes = 1;
  std::chrono::seconds budget{60};
  std::vector<PolicyFile> policies = {};
  std::vector<std::string> cards = {};
  std::string command = {};
  // The experiment with the changes of a candidate. May throw UserError.
  std::function<Experiment(const Candidate&)> read = {};
  std::optional<PublishedErrors> errors = {};
  std::function<void(double share)> progress = {};
};

// Simulates `base`, whose plan is only tried, with enough memory and on demand, and what candidates_of names, until the
// budget is spent; each in a process of its own. Call before the engine is used. UserError when the trace is refused.
Advice advise(Experiment base, const AdviceOptions& options);

std::string to_text(const Advice& advice);
// One JSON object (sim/study/advice/ADVISE.md).
std::string to_json(const Advice& advice);

}  // namespace uvmsim
