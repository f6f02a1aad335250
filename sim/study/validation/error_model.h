// How far off a predicted time may be, from how far off the predictions of measured times were.
//
// Each kind of work has a relative error of its own, shared by everything of that kind in a run; the error of a time is
// the sum of its kinds' errors, each weighted by how much the time moves with it:
//
//   ln(predicted / measured) = sum over kinds of share x error of the kind
//
// Kinds that the driver's steps price have another error on machines whose host has no calibration case of its own.
#pragma once

#include <string>
#include <vector>

#include "metrics/fields.h"
#include "metrics/result.h"

namespace uvmsim {

// One number per kind of work.
struct ByKind {
  double kernels = 0;        // in-core time of kernels, as the trace has it
  double demand_paging = 0;  // the driver's work on faults for pages that are copied
  double first_touch = 0;    // the driver's work on faults for pages that nobody touched before
  double fault_copies = 0;   // copies that a fault batch waits for
  double eviction = 0;       // copies out that a fault batch waits for
  double remote_access = 0;  // kernels that read and write over the link
  double prefetch = 0;       // cudaMemPrefetchAsync that no kernel hides
  double copies = 0;         // explicit copies that no kernel hides, and collectives
  double host = 0;           // the stream is empty: the host's own time
};

template <>
inline constexpr auto kFields<ByKind> = std::tuple{
    Field{"kernels", &ByKind::kernels, "1", "kernels, as the trace has them"},
    Field{"demand_paging", &ByKind::demand_paging, "1", "the driver's work on faults for pages that are copied"},
    Field{"first_touch", &ByKind::first_touch, "1", "the driver's work on faults for pages that nobody touched before"},
    Field{"fault_copies", &ByKind::fault_copies, "1", "copies in that a fault batch waits for"},
    Field{"eviction", &ByKind::eviction, "1", "copies out that a fault batch waits for"},
    Field{"remote_access", &ByKind::remote_access, "1", "kernels' accesses over the link"},
    Field{"prefetch", &ByKind::prefetch, "1", "cudaMemPrefetchAsync that no kernel hides"},
    Field{"copies", &ByKind::copies, "1", "explicit copies and collectives that no kernel hides"},
    Field{"host", &ByKind::host, "1", "waiting for the host"}};
UVMSIM_NAMES_EVERY_MEMBER(ByKind);

// How much of a GPU's time is of each kind; the sum is 1 where there is any time. `remote`: that rate over the link.
ByKind shares_of(const TimeSplit& split, const GpuCounts& counts, BytesPerSecond remote);
// The same of the slowest GPU, which a run waits for.
ByKind shares_of(const std::vector<GpuResult>& gpus, BytesPerSecond remote);

// The result as it would be if what `kind` (a member of ByKind) takes on GPU 0 took `factor` times as long.
Result stretched(const Result& result, double ByKind::*kind, double factor, BytesPerSecond remote);

// A measured time or rate next to its prediction.
struct TimeError {
  std::string family, value;
  bool own_costs = false;  // the machine's host has calibration cases, and they were used
  double log_error = 0;    // ln(predicted / measured)
  double uncertainty = 0;  // of the measured value, as a share
  ByKind moves;            // d ln(predicted) / d ln(time of the kind)
};

// Standard deviations of the kinds' errors, of logarithms.
struct ErrorModel {
  ByKind own_costs, other_costs;
  double quantile = 0;     // of |error| over its standard deviation: 80 % of the values are below
  double correlation = 0;  // of the errors of two values of one family: what policies on one machine have in common
  int values = 0;          // that it rests on
  double coverage = 0;     // share of the values inside the bands of a model that did not see their family
};

constexpr double kBandLevel = 0.8;

// The likeliest model with errors of Student's t with 4 degrees of freedom; a family of n values counts as the root of
// n. `errors` is not empty.
ErrorModel fit_error_model(const std::vector<TimeError>& errors);

// Standard deviation of ln(predicted / true).
double spread_of(const ErrorModel& model, const ByKind& moves, bool own_costs);

// The same of ln(predicted ratio / true ratio) of two times on one machine.
double spread_of_ratio(const ErrorModel& model, const ByKind& a, const ByKind& b, bool own_costs);

// Whether `one` is inside the band of the model.
bool inside_band(const ErrorModel& model, const TimeError& one);

}  // namespace uvmsim
