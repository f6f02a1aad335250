#include "study/advice/advise.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <set>

#include "base/user_error.h"
#include "report/json.h"
#include "study/integer_parameter.h"
#include "study/memory_fit.h"
#include "study/planning.h"
#include "study/setup.h"
#include "study/simulate.h"
#include "study/sweep/point_workers.h"

namespace uvmsim {
namespace {

using Clock = std::chrono::steady_clock;

// Points before those of candidates.
constexpr std::size_t kInCore = 0, kNow = 1, kFit = 2, kCandidates = 3;

// Samples per second; iterations where none are counted.
double rate_of(const Result& result) { return (result.samples > 0 ? result.samples : 1) / result.duration_s; }

class Trials {
 public:
  Trials(const Experiment& base, const AdviceOptions& options, Advice& advice, trace::Trace trace)
      : base_(base), options_(options), advice_(advice), trace_(std::move(trace)) {
    for (std::size_t point = 0; point < kCandidates; ++point) waiting_.push_back(point);
    for (std::size_t c = 0; c < advice.trials.size(); ++c) waiting_.push_back(kCandidates + c);
  }

  bool waiting() const { return !waiting_.empty(); }
  std::size_t next() {
    const std::size_t point = waiting_.front();
    waiting_.pop_front();
    return point;
  }
  std::size_t count() const { return kCandidates + advice_.trials.size(); }

  // In a process of its own.
  std::string simulate(std::size_t point) const {
    if (point == kInCore) return to_json(run_in_core(base_, trace_));
    if (point == kNow) return to_json(run_experiment(base_, trace_));
    if (point == kFit) {
      Result found;
      found.plan.need.largest = {
          {.parameter = "batch", .unplanned = fit_memory(base_, {}).fits.front().largest_batch.value_or(0)}};
      return to_json(found);
    }
    const Candidate& candidate = advice_.trials[point - kCandidates].candidate;
    const Experiment experiment = options_.read(candidate);
    trace::Trace trace = trace_for(candidate, experiment);
    if (experiment.plan.parameters != nullptr) return planned_result(experiment, trace);
    return to_json(run_experiment(experiment, std::move(trace)));
  }

  void note(const PointOutcome& outcome) {
    if (outcome.point == kFit) return note_fit(outcome);
    Trial& trial = outcome.point == kInCore ? advice_.in_core
                   : outcome.point == kNow  ? advice_.now
                                            : advice_.trials[outcome.point - kCandidates];
    trial.tried = true;
    trial.result = handed_over(outcome, trial.error);
  }

 private:
  // Policies and planners only move memory: they have the trace of what runs now.
  trace::Trace trace_for(const Candidate& candidate, const Experiment& experiment) const {
    static const std::set<std::string> kOther = {"batch", "card", "parameter"};
    return kOther.contains(candidate.kind) ? make_trace(experiment) : trace_;
  }

  // The largest batch that fits is tried next.
  void note_fit(const PointOutcome& outcome) {
    const std::optional<Result> found = result_from_json(outcome.report);
    if (!found || !advice_.batch) return;
    const std::int64_t largest = found->plan.need.largest.front().unplanned;
    advice_.largest_batch = largest;
    // Half of it as well: whether throughput still grows with the batch.
    for (const std::int64_t size : {largest / 2, largest}) {
      const std::string name = batch_candidate(size, true).name;
      const auto same = [&](const Trial& trial) { return trial.candidate.name == name; };
      if (size <= 0 || size == advice_.batch || std::ranges::any_of(advice_.trials, same)) continue;
      advice_.trials.push_back({.candidate = batch_candidate(size, true)});
      if (size < largest)
        advice_.trials.back().candidate.meaning = "half of the largest batch that fits, with cudaMalloc";
      waiting_.push_front(kCandidates + advice_.trials.size() - 1);
    }
  }

  const Experiment& base_;
  const AdviceOptions& options_;
  Advice& advice_;
  trace::Trace trace_;
  std::deque<std::size_t> waiting_;  // points, in order
};

// The gain of `trial` over demand paging, and its band.
void add_gain(const Experiment& base, const AdviceOptions& options, const Result& now, Trial& trial) {
  if (!trial.completed()) return;
  trial.gain = rate_of(*trial.result) / rate_of(now);
  if (!options.errors) return;
  const PublishedErrors& errors = *options.errors;
  const bool card = !trial.candidate.machine.empty();
  const Machine machine = card ? options.read(trial.candidate).machine : base.machine;
  trial.band = band_of(errors, machine, trial.result->gpus, trial.result->duration_s);
  const ByKind before = shares_of(now.gpus, base.machine.gpus[GpuIndex{0}].remote_bandwidth);
  const ByKind after = shares_of(trial.result->gpus, machine.gpus[GpuIndex{0}].remote_bandwidth);
  const bool own = band_of(errors, base.machine, now.gpus, now.duration_s).own_costs;
  // What two machines have in common is not known: their errors count in full.
  const double spread =
      card ? std::hypot(spread_of(errors.model, before, own), spread_of(errors.model, after, trial.band->own_costs))
           : spread_of_ratio(errors.model, before, after, own);
  const double reach = std::exp(errors.model.quantile * spread);
  trial.gain_low = trial.gain / reach;
  trial.gain_high = trial.gain * reach;
  trial.told_apart = trial.gain_low > 1 || trial.gain_high < 1;
}

void add_gains(const Experiment& base, const AdviceOptions& options, Advice& advice) {
  if (!advice.now.completed()) return;
  for (Trial* trial : {&advice.in_core, &advice.now}) add_gain(base, options, *advice.now.result, *trial);
  for (Trial& trial : advice.trials) add_gain(base, options, *advice.now.result, trial);
}

}  // namespace

std::vector<const Trial*> Advice::gains() const {
  std::vector<const Trial*> best;
  for (const Trial& trial : trials)
    if (trial.completed() && trial.gain > 1 && trial.told_apart) best.push_back(&trial);
  std::ranges::stable_sort(best, std::greater(), &Trial::gain);
  return best;
}

const Trial* Advice::best_batch() const {
  const Trial* best = batch && now.completed() ? &now : nullptr;
  for (const Trial& trial : trials)
    if (best != nullptr && trial.candidate.kind == "batch" && trial.completed() &&
        rate_of(*trial.result) > rate_of(*best->result))
      best = &trial;
  return best;
}

Advice advise(Experiment base, const AdviceOptions& options) {
  const Clock::time_point end = Clock::now() + options.budget;
  trace::Trace trace = make_trace(base);
  Advice advice{.experiment = base.name,
                .description = base.description,
                .setup = setup_of(base, trace),
                .command = options.command,
                .budget_s = static_cast<double>(options.budget.count())};
  if (const auto& known = advice.setup.operands; known && !known->enough)
    throw UserError(base.name,
                    "nothing can be advised: of the kernels' time, less than nine tenths has known operands (" +
                        std::to_string(known->known_kernels) + " of " + std::to_string(known->kernels) + " kernels); " +
                        known->remedy);
  const MemoryFit fit = fit_as_it_is(base);
  advice.fits = fit.fits;
  advice.need_bytes = fit.peak_reserved.value;
  if (const IntegerParameter batch(base.workload.parameters.get(), "batch"); batch.exists())
    advice.batch = batch.given();
  if (!advice.fits && !advice.batch) {
    const MemoryFitReport inputs = fit_memory(base, {});
    for (const MemoryFit::Largest& of : inputs.fits.front().largest)
      if (!of.largest.empty()) advice.trials.push_back({.candidate = input_candidate(of.parameter, of.largest)});
  }
  for (Candidate& candidate : candidates_of(base, advice.fits, options.policies, options.cards))
    advice.trials.push_back({.candidate = std::move(candidate)});
  base.plan = {};

  Trials trials(base, options, advice, std::move(trace));
  PointProcesses workers([&](std::size_t point) { return trials.simulate(point); },
                         static_cast<std::size_t>(std::max(options.processes, 1)),
                         {.timeout = options.budget + std::chrono::seconds(1), .memory = {}});
  std::size_t done = 0;
  while ((trials.waiting() || workers.running() > 0) && Clock::now() < end) {
    while (trials.waiting() && workers.free() > 0) workers.start(trials.next());
    for (const PointOutcome& outcome : workers.wait(std::chrono::milliseconds(200))) {
      trials.note(outcome);
      ++done;
    }
    if (options.progress) options.progress(static_cast<double>(done) / static_cast<double>(trials.count()));
  }
  add_gains(base, options, advice);
  return advice;
}

}  // namespace uvmsim
