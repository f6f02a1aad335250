#include "study/validation/error_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlopt.hpp>
#include <set>

namespace uvmsim {
namespace {

constexpr double kFreedom = 4;    // of Student's t: outliers do not widen every band
constexpr double kFloor = 0.02;   // of every value: integer counts, rounding in tables
constexpr double kTypical = 0.2;  // the prior's median of a kind's standard deviation
constexpr double kPrior = 0.7;    // and the standard deviation of its logarithm
constexpr double kLeast = 0.01, kMost = 1.5;

using Kind = double ByKind::*;
constexpr auto kKinds = std::apply([](const auto&... field) { return std::array{field.member...}; }, kFields<ByKind>);
// Those that the driver's steps price.
constexpr std::array<Kind, 4> kPriced = {&ByKind::demand_paging, &ByKind::first_touch, &ByKind::eviction,
                                         &ByKind::prefetch};

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

// Seconds of each kind.
ByKind seconds_of(const TimeSplit& split, const GpuCounts& counts, BytesPerSecond remote) {
  ByKind of;
  const auto copied = static_cast<double>(counts.h2d_bytes), populated = static_cast<double>(counts.populated_bytes);
  const double touched = share(populated, copied + populated);
  of.demand_paging = split.fault_cpu_s * (1 - touched);
  of.first_touch = split.fault_cpu_s * touched;
  of.fault_copies = split.copy_in_s + split.link_wait_s;
  of.eviction = split.eviction_s;
  of.remote_access =
      std::min(split.compute_s, share(static_cast<double>(counts.remote_bytes), static_cast<double>(remote.value)));
  of.kernels = split.compute_s - of.remote_access;
  const auto explicitly = static_cast<double>(counts.memcpy_h2d_bytes + counts.memcpy_d2h_bytes);
  const double called = split.transfer_s * share(explicitly, explicitly + copied);
  of.copies = (copied + explicitly > 0 ? called : split.transfer_s) + split.collective_s;
  of.prefetch = split.transfer_s + split.collective_s - of.copies;
  of.host = split.idle_s;
  return of;
}

struct Weighted {
  const TimeError* of;
  double weight;
};

std::vector<Weighted> weighted(const std::vector<TimeError>& errors, const std::string& without) {
  std::map<std::string, int> sizes;
  for (const TimeError& one : errors) ++sizes[one.family];
  std::vector<Weighted> list;
  for (const TimeError& one : errors)
    if (one.family != without) list.push_back({&one, 1 / std::sqrt(sizes[one.family])});
  return list;
}

double variance(const ErrorModel& model, const ByKind& moves, bool own_costs) {
  const ByKind& spread = own_costs ? model.own_costs : model.other_costs;
  double sum = kFloor * kFloor;
  for (const Kind kind : kKinds) sum += std::pow(moves.*kind * spread.*kind, 2);
  return sum;
}

double variance(const ErrorModel& model, const TimeError& one) {
  return variance(model, one.moves, one.own_costs) + one.uncertainty * one.uncertainty;
}

// The logarithms of the standard deviations: of all kinds, then of the priced ones on other hosts.
ErrorModel model_at(const std::vector<double>& x) {
  ErrorModel model;
  for (std::size_t k = 0; k < kKinds.size(); ++k)
    model.own_costs.*kKinds[k] = model.other_costs.*kKinds[k] = std::exp(x[k]);
  for (std::size_t k = 0; k < kPriced.size(); ++k) model.other_costs.*kPriced[k] = std::exp(x[kKinds.size() + k]);
  return model;
}

double unlikeliness(const std::vector<double>& x, const std::vector<Weighted>& errors) {
  const ErrorModel model = model_at(x);
  double sum = 0;
  for (const double log : x) sum += std::pow((log - std::log(kTypical)) / kPrior, 2) / 2;
  for (const Weighted& one : errors) {
    const double v = variance(model, *one.of);
    const double square = one.of->log_error * one.of->log_error / v;
    sum += one.weight * ((kFreedom + 1) / 2 * std::log1p(square / kFreedom) + std::log(v) / 2);
  }
  return sum;
}

ErrorModel likeliest(const std::vector<Weighted>& errors) {
  const std::size_t size = kKinds.size() + kPriced.size();
  nlopt::opt search(nlopt::LN_BOBYQA, static_cast<unsigned>(size));
  search.set_lower_bounds(std::log(kLeast));
  search.set_upper_bounds(std::log(kMost));
  search.set_initial_step(0.5);
  search.set_maxeval(2000);
  search.set_xtol_abs(1e-3);
  struct Data {
    const std::vector<Weighted>& errors;
  } data{errors};
  search.set_min_objective([](const std::vector<double>& at, std::vector<double>&,
                              void* of) { return unlikeliness(at, static_cast<Data*>(of)->errors); },
                           &data);
  std::vector<double> x(size, std::log(kTypical));
  double best = 0;
  try {
    search.optimize(x, best);
  } catch (const nlopt::roundoff_limited&) {
    // As good as it gets: `x` holds the best point.
  }
  return model_at(x);
}

// The |error| / standard deviation below which kBandLevel of the weight is.
double quantile(const ErrorModel& model, const std::vector<Weighted>& errors) {
  std::vector<std::pair<double, double>> sizes;  // with weights
  double all = 0;
  for (const Weighted& one : errors) {
    sizes.emplace_back(std::abs(one.of->log_error) / std::sqrt(variance(model, *one.of)), one.weight);
    all += one.weight;
  }
  std::ranges::sort(sizes);
  double below = 0;
  for (const auto& [size, weight] : sizes)
    if ((below += weight) >= kBandLevel * all) return size;
  return sizes.back().first;
}

ErrorModel fit_without(const std::vector<TimeError>& errors, const std::string& family) {
  const std::vector<Weighted> seen = weighted(errors, family);
  ErrorModel model = likeliest(seen);
  model.quantile = quantile(model, seen);
  model.values = static_cast<int>(seen.size());
  return model;
}

// Of errors over their standard deviations, between the values of a family.
double correlation_within(const ErrorModel& model, const std::vector<TimeError>& errors) {
  struct Sums {
    double sum = 0, squares = 0, count = 0;
  };
  std::map<std::string, Sums> families;
  for (const TimeError& one : errors) {
    // Beyond the band an error says no more about what is common.
    const double z = std::clamp(one.log_error / std::sqrt(variance(model, one)), -model.quantile, model.quantile);
    Sums& of = families[one.family];
    of.sum += z;
    of.squares += z * z;
    of.count += 1;
  }
  double products = 0, squares = 0;
  for (const auto& [family, of] : families) {
    if (of.count < 2) continue;
    const double pairs = of.count * (of.count - 1);
    products += (of.sum * of.sum - of.squares) / pairs;  // mean over the pairs of the family
    squares += of.squares / of.count;
  }
  return squares > 0 ? std::clamp(products / squares, 0.0, 0.99) : 0;
}

}  // namespace

ByKind shares_of(const TimeSplit& split, const GpuCounts& counts, BytesPerSecond remote) {
  ByKind shares = seconds_of(split, counts, remote);
  const double whole = split.total();
  for (const Kind kind : kKinds) shares.*kind = share(shares.*kind, whole);
  return shares;
}

ByKind shares_of(const std::vector<GpuResult>& gpus, BytesPerSecond remote) {
  const GpuResult& slowest = *std::ranges::max_element(gpus, {}, &GpuResult::duration_s);
  return shares_of(slowest.time_split_s, slowest.counts, remote);
}

Result stretched(const Result& result, double ByKind::*kind, double factor, BytesPerSecond remote) {
  Result after = result;
  GpuResult& gpu = after.gpus.front();
  const double more = (factor - 1) * seconds_of(gpu.time_split_s, gpu.counts, remote).*kind;
  const double whole = gpu.time_split_s.total();
  TimeSplit& split = gpu.time_split_s;
  if (kind == &ByKind::demand_paging || kind == &ByKind::first_touch) split.fault_cpu_s += more;
  if (kind == &ByKind::fault_copies) split.copy_in_s += more;
  if (kind == &ByKind::eviction) split.eviction_s += more;
  if (kind == &ByKind::remote_access || kind == &ByKind::kernels) split.compute_s += more;
  if (kind == &ByKind::prefetch || kind == &ByKind::copies) split.transfer_s += more;
  if (kind == &ByKind::host) split.idle_s += more;
  const double longer = 1 + share(more, whole);
  after.duration_s *= longer;
  gpu.duration_s *= longer;
  for (double& one : gpu.iteration_s) one *= longer;
  // A link is as long busy as before, or longer with its copies.
  const bool copies = kind == &ByKind::fault_copies || kind == &ByKind::eviction || kind == &ByKind::copies ||
                      kind == &ByKind::prefetch;
  for (LinkDirectionResult& link : after.links) link.busy_fraction *= (copies ? factor : 1) / longer;
  return after;
}

ErrorModel fit_error_model(const std::vector<TimeError>& errors) {
  ErrorModel model = fit_without(errors, "");
  model.correlation = correlation_within(model, errors);
  std::set<std::string> families;
  for (const TimeError& one : errors) families.insert(one.family);
  int inside = 0;
  for (const std::string& family : families) {
    if (families.size() == 1) break;
    const ErrorModel others = fit_without(errors, family);
    for (const TimeError& one : errors) inside += one.family == family && inside_band(others, one) ? 1 : 0;
  }
  model.coverage = static_cast<double>(inside) / static_cast<double>(errors.size());
  return model;
}

double spread_of(const ErrorModel& model, const ByKind& moves, bool own_costs) {
  return std::sqrt(variance(model, moves, own_costs));
}

double spread_of_ratio(const ErrorModel& model, const ByKind& a, const ByKind& b, bool own_costs) {
  // Of each kind's error the part `correlation` is the same in both, the rest is not.
  const ByKind& spread = own_costs ? model.own_costs : model.other_costs;
  double sum = 2 * kFloor * kFloor * (1 - model.correlation);
  for (const Kind kind : kKinds) {
    const double square = std::pow(spread.*kind, 2);
    sum += square * (model.correlation * std::pow(a.*kind - b.*kind, 2) +
                     (1 - model.correlation) * (std::pow(a.*kind, 2) + std::pow(b.*kind, 2)));
  }
  return std::sqrt(sum);
}

bool inside_band(const ErrorModel& model, const TimeError& one) {
  return std::abs(one.log_error) <= model.quantile * std::sqrt(variance(model, one));
}

}  // namespace uvmsim
