#include "study/calibration/joint_fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

namespace uvmsim {
namespace {

constexpr double kHopeless = 6.9;  // ln 1000: of a prediction that is not positive
constexpr double kStep = 2;        // times as long, for the slopes: counts jump, and which SM gets a slot is random
constexpr double kLongest = 0.7;   // of a logarithm, in one iteration
constexpr int kHalvings = 3;
constexpr double kGain = 1e-2;  // a smaller relative gain ends the search

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

Index at(std::size_t i) { return static_cast<Index>(i); }

// What a part of the objective adds to the normal equations.
struct Normal {
  MatrixXd information;
  VectorXd gradient;
};

Normal sum_of(const std::vector<Normal>& parts) {
  Normal sum = parts.front();
  for (std::size_t p = 1; p < parts.size(); ++p) {
    sum.information += parts[p].information;
    sum.gradient += parts[p].gradient;
  }
  return sum;
}

// The step to the least of the linearised objective.
VectorXd step_of(const Normal& normal) { return -normal.information.ldlt().solve(normal.gradient); }

// How ln(prediction) of each target of each host with targets moves with the logarithm of each of its fitted steps, and
// (last column) of all its steps together; and where that was measured.
struct Slopes {
  VectorXd x;
  std::vector<VectorXd> residuals;
  std::vector<MatrixXd> of;
};

// The unknowns stand in one vector: common values of the fitted steps, slownesses of the hosts, what each kind of host
// has, then what each host with targets has of its own, in logarithms.
class Posterior {
 public:
  explicit Posterior(const JointProblem& problem) : problem_(problem) {
    for (std::size_t k = 0; k < problem.steps.size(); ++k)
      if (problem.steps[k].fitted) fitted_.push_back(k);
    std::size_t size = fitted_.size() + problem.hosts.size();
    std::map<std::string, std::size_t> kinds;
    for (const JointHost& host : problem.hosts) {
      const auto [kind, fresh] = kinds.try_emplace(host.kind, size);
      if (fresh) size += fitted_.size();
      kind_.push_back(kind->second);
    }
    const std::size_t first_own = size;
    for (const JointHost& host : problem.hosts) {
      own_.push_back(size);
      if (!host.targets.empty()) size += fitted_.size();
    }
    mean_ = VectorXd::Zero(at(size));
    precision_ = VectorXd::Constant(at(size), 1 / std::pow(problem.prior.own, 2));
    precision_.head(at(first_own)).setConstant(1 / std::pow(problem.prior.kind, 2));
    for (std::size_t f = 0; f < fitted_.size(); ++f) {
      mean_[at(f)] = std::log(problem.steps[fitted_[f]].common_s);
      precision_[at(f)] = 1 / std::pow(problem.prior.common, 2);
    }
    for (std::size_t h = 0; h < problem.hosts.size(); ++h) {
      mean_[slowness(h)] = std::log(problem.hosts[h].slowness);
      precision_[slowness(h)] = 1 / std::pow(problem.prior.slowness, 2);
    }
  }

  const VectorXd& start() const { return mean_; }
  const std::vector<std::size_t>& fitted() const { return fitted_; }
  Index slowness(std::size_t host) const { return at(fitted_.size() + host); }
  bool has_own(std::size_t host) const { return !problem_.hosts[host].targets.empty(); }
  Index kind(std::size_t host, std::size_t f) const { return at(kind_[host] + f); }
  Index own(std::size_t host, std::size_t f) const { return at(own_[host] + f); }

  StepTimes times(const VectorXd& x, std::size_t host) const {
    StepTimes times;
    for (const JointStep& step : problem_.steps) times.push_back(step.common_s * std::exp(x[slowness(host)]));
    for (std::size_t f = 0; f < fitted_.size(); ++f)
      times[fitted_[f]] =
          std::exp(x[at(f)] + x[kind(host, f)] + x[slowness(host)] + (has_own(host) ? x[own(host, f)] : 0));
    return times;
  }

  // Hosts with targets.
  std::vector<JointQuery> queries(const VectorXd& x) const {
    std::vector<JointQuery> queries;
    for (std::size_t h = 0; h < problem_.hosts.size(); ++h)
      if (has_own(h)) queries.push_back({h, times(x, h)});
    return queries;
  }

  VectorXd residuals(const JointQuery& query, const std::vector<double>& predicted) const {
    const std::vector<JointTarget>& targets = problem_.hosts[query.host].targets;
    VectorXd r(at(targets.size()));
    for (std::size_t i = 0; i < targets.size(); ++i)
      r[at(i)] = predicted.at(i) > 0 ? std::log(predicted[i] / targets[i].measured) : kHopeless;
    return r;
  }

  // A squared residual over the target's variance.
  static double deviance(const JointTarget& target, double residual) { return std::pow(residual, 2) / target.variance; }

  // What each target's squared residual counts in the normal equations: the slope of its loss by it.
  VectorXd weights(std::size_t host, const VectorXd& r) const {
    const std::vector<JointTarget>& targets = problem_.hosts[host].targets;
    const double per_freedom = 1 / problem_.degrees_of_freedom;
    VectorXd w(at(targets.size()));
    for (std::size_t i = 0; i < targets.size(); ++i) {
      w[at(i)] = targets[i].weight * (1 + per_freedom) / (1 + per_freedom * deviance(targets[i], r[at(i)])) /
                 targets[i].variance;
    }
    return w;
  }

  // Twice the negative logarithm of the likelihood of a host's residuals, less what no unknown changes.
  double loss(std::size_t host, const VectorXd& r) const {
    const std::vector<JointTarget>& targets = problem_.hosts[host].targets;
    const double freedom = problem_.degrees_of_freedom;
    double sum = 0;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const double off = deviance(targets[i], r[at(i)]);
      sum += targets[i].weight * (std::isinf(freedom) ? off : (freedom + 1) * std::log1p(off / freedom));
    }
    return sum;
  }

  double objective(const VectorXd& x, const std::vector<std::vector<double>>& predicted) const {
    const VectorXd off = x - mean_;
    double sum = off.dot(precision_.cwiseProduct(off));
    const std::vector<JointQuery> all = queries(x);
    for (std::size_t q = 0; q < all.size(); ++q) sum += loss(all[q].host, residuals(all[q], predicted[q]));
    return sum;
  }

  // Slopes around `x`, from predictions with each step longer. Steps that none of a host's targets moved with are not
  // tried again.
  Slopes measured_slopes(const VectorXd& x, const std::vector<std::vector<double>>& predicted) {
    const std::vector<JointQuery> base = queries(x);
    if (moves_.empty()) moves_.assign(base.size(), std::vector<bool>(fitted_.size() + 1, true));
    std::vector<JointQuery> tried;
    for (std::size_t q = 0; q < base.size(); ++q) {
      tried.push_back(base[q]);
      for (std::size_t f = 0; f <= fitted_.size(); ++f)
        if (moves_[q][f]) tried.push_back(longer(base[q], f));
    }
    const std::vector<std::vector<double>> found = problem_.slope(tried);
    Slopes slopes{x, {}, {}};
    auto next = found.begin();
    for (std::size_t q = 0; q < base.size(); ++q) {
      slopes.residuals.push_back(residuals(base[q], predicted[q]));
      const VectorXd r = residuals(base[q], *next++);
      MatrixXd& j = slopes.of.emplace_back(MatrixXd::Zero(r.size(), at(fitted_.size() + 1)));
      for (std::size_t f = 0; f <= fitted_.size(); ++f) {
        if (!moves_[q][f]) continue;
        j.col(at(f)) = ((residuals(base[q], *next++) - r).array().exp() - 1) / (kStep - 1);
        moves_[q][f] = !j.col(at(f)).isZero(0);
      }
    }
    return slopes;
  }

  // What slopes that were measured elsewhere are at `x`, where this is predicted. A time is about a sum over steps of
  // how often each is taken x what one takes, and a rest: with the counts as they were, a step's part grows as its time
  // does, and the rest stays.
  std::vector<MatrixXd> slopes_at(const Slopes& slopes, const VectorXd& x,
                                  const std::vector<std::vector<double>>& predicted) const {
    const std::vector<JointQuery> from = queries(slopes.x), to = queries(x);
    std::vector<MatrixXd> all = slopes.of;
    for (std::size_t q = 0; q < to.size(); ++q) {
      const VectorXd r = residuals(to[q], predicted[q]);
      for (Index i = 0; i < r.size(); ++i) {
        if (r[i] == kHopeless || slopes.residuals[q][i] == kHopeless) continue;
        const double shrunk = std::exp(slopes.residuals[q][i] - r[i]);
        for (std::size_t f = 0; f < fitted_.size(); ++f)
          all[q](i, at(f)) *= shrunk * to[q].times[fitted_[f]] / from[q].times[fitted_[f]];
        double& together = all[q](i, at(fitted_.size()));
        together = 1 - shrunk * (1 - together);
      }
    }
    return all;
  }

  // Slopes of one host by all unknowns.
  MatrixXd spread(const MatrixXd& slopes, std::size_t host) const {
    MatrixXd j = MatrixXd::Zero(slopes.rows(), mean_.size());
    for (std::size_t f = 0; f < fitted_.size(); ++f) {
      j.col(at(f)) = slopes.col(at(f));
      j.col(kind(host, f)) = slopes.col(at(f));
      j.col(own(host, f)) = slopes.col(at(f));
    }
    j.col(slowness(host)) = slopes.col(at(fitted_.size()));
    return j;
  }

  // The normal equations around `x`: of the priors first, then of each host with targets.
  std::vector<Normal> linearise(const Slopes& slopes, const VectorXd& x,
                                const std::vector<std::vector<double>>& predicted) const {
    std::vector<Normal> parts = {{precision_.asDiagonal(), precision_.cwiseProduct(x - mean_)}};
    const std::vector<JointQuery> all = queries(x);
    const std::vector<MatrixXd> here = slopes_at(slopes, x, predicted);
    for (std::size_t q = 0; q < all.size(); ++q) {
      const MatrixXd j = spread(here[q], all[q].host);
      const VectorXd r = residuals(all[q], predicted[q]);
      const VectorXd w = weights(all[q].host, r);
      parts.push_back({j.transpose() * w.asDiagonal() * j, j.transpose() * w.cwiseProduct(r)});
    }
    return parts;
  }

  // Standard deviation of ln(time) of every step on a host.
  std::vector<double> uncertainty(const MatrixXd& covariance, std::size_t host) const {
    const auto deviation = [&](const VectorXd& sum, double more) {
      return std::sqrt(std::max(0.0, sum.dot(covariance * sum)) + more);
    };
    VectorXd slow = VectorXd::Zero(mean_.size());
    slow[slowness(host)] = 1;
    std::vector<double> result(problem_.steps.size(), deviation(slow, std::pow(problem_.prior.own, 2)));
    for (std::size_t f = 0; f < fitted_.size(); ++f) {
      VectorXd sum = slow;
      sum[at(f)] = sum[kind(host, f)] = 1;
      if (has_own(host)) sum[own(host, f)] = 1;
      result[fitted_[f]] = deviation(sum, has_own(host) ? 0 : std::pow(problem_.prior.own, 2));
    }
    return result;
  }

 private:
  // The query with one fitted step longer, or with all steps.
  JointQuery longer(JointQuery query, std::size_t f) const {
    for (std::size_t k = 0; k < query.times.size(); ++k)
      if (f == fitted_.size() || k == fitted_[f]) query.times[k] *= kStep;
    return query;
  }

  const JointProblem& problem_;
  std::vector<std::size_t> fitted_;       // steps
  std::vector<std::size_t> kind_;         // where the part of each host's kind starts
  std::vector<std::size_t> own_;          // where each host's own part starts
  VectorXd mean_, precision_;             // of the priors
  std::vector<std::vector<bool>> moves_;  // by host with targets and fitted step: some target moves with it
};

void check(const JointProblem& problem) {
  const auto wrong = [](const std::string& what) { throw std::invalid_argument("a joint fit needs positive " + what); };
  for (const JointStep& step : problem.steps)
    if (!(step.common_s > 0)) wrong("times: " + step.name);
  for (const JointHost& host : problem.hosts) {
    if (!(host.slowness > 0)) wrong("slownesses: " + host.name);
    for (const JointTarget& target : host.targets)
      if (!(target.measured > 0 && target.variance > 0 && target.weight > 0))
        wrong("measured values, variances and weights: " + target.name);
  }
  if (!(problem.degrees_of_freedom > 0)) wrong("degrees of freedom");
  const JointPrior& prior = problem.prior;
  if (!(prior.common > 0 && prior.kind > 0 && prior.slowness > 0 && prior.own > 0)) wrong("priors");
}

}  // namespace

JointFit fit_jointly(const JointProblem& problem) {
  check(problem);
  Posterior posterior(problem);
  VectorXd x = posterior.start();
  std::vector<std::vector<double>> predicted = problem.predict(posterior.queries(x));
  double objective = posterior.objective(x, predicted);
  JointFit result;
  std::vector<std::vector<double>> before = predicted;
  Slopes slopes;
  for (bool done = false; !done && result.iterations < problem.iterations; ++result.iterations) {
    if (problem.begins) problem.begins(result.iterations);
    const bool fresh = slopes.of.empty();
    if (fresh) slopes = posterior.measured_slopes(x, predicted);
    VectorXd step = step_of(sum_of(posterior.linearise(slopes, x, predicted)));
    step *= std::min(1.0, kLongest / std::max(kLongest, step.cwiseAbs().maxCoeff()));
    bool better = false, gains = false;
    for (int halving = 0; !better && halving <= kHalvings; ++halving, step /= 2) {
      const VectorXd next = x + step;
      std::vector<std::vector<double>> there = problem.predict(posterior.queries(next));
      const double value = posterior.objective(next, there);
      better = value < objective;
      if (!better) continue;
      gains = objective - value >= kGain * objective;
      x = next;
      predicted = std::move(there);
      objective = value;
    }
    if (gains) continue;
    done = fresh;
    if (!fresh) slopes = {};  // measured again before the search ends
  }
  if (slopes.of.empty()) slopes = posterior.measured_slopes(x, predicted);
  const std::vector<Normal> parts = posterior.linearise(slopes, x, predicted);
  const Normal all = sum_of(parts);
  const MatrixXd covariance = all.information.inverse();
  std::size_t with = 0;
  for (std::size_t h = 0; h < problem.hosts.size(); ++h) {
    result.times.push_back(posterior.times(x, h));
    result.uncertainty.push_back(posterior.uncertainty(covariance, h));
    result.slowness.push_back(std::exp(x[posterior.slowness(h)]));
    Normal others = all;
    if (posterior.has_own(h)) {
      others.information -= parts[with + 1].information;
      others.gradient -= parts[with + 1].gradient;
    }
    result.left_out.push_back(posterior.times(x + step_of(others), h));
    result.before.push_back(posterior.has_own(h) ? before[with] : std::vector<double>{});
    result.after.push_back(posterior.has_own(h) ? predicted[with] : std::vector<double>{});
    with += posterior.has_own(h) ? 1 : 0;
  }
  for (const JointStep& s : problem.steps) result.common.push_back(s.common_s);
  for (std::size_t f = 0; f < posterior.fitted().size(); ++f) result.common[posterior.fitted()[f]] = std::exp(x[at(f)]);
  return result;
}

}  // namespace uvmsim
