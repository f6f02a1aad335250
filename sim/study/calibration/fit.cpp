#include "study/calibration/fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <nlopt.hpp>
#include <stdexcept>

namespace uvmsim {
namespace {

constexpr double kHopeless = 6.9;       // ln 1000
constexpr double kNoEffect = 1e-4;      // a sensitivity below this is noise of integer time
constexpr double kTradesAgainst = 0.9;  // correlation of two estimates

// The problem in logarithms.
class Problem {
 public:
  Problem(const std::vector<FitParameter>& parameters, const std::vector<FitTarget>& targets, const Predict& predict,
          const FitOptions& options)
      : parameters_(parameters), targets_(targets), predict_(predict), options_(options) {
    const auto bad = [](const FitParameter& p) {
      return !(p.start > 0 && p.lower > 0 && p.lower <= p.start && p.start <= p.upper);
    };
    if (parameters.empty() || std::ranges::any_of(parameters, bad))
      throw std::invalid_argument("a fit needs parameters that are positive and inside their bounds");
    double sum = 0;
    for (const FitTarget& target : targets) {
      if (!(target.measured > 0 && target.weight > 0))
        throw std::invalid_argument("a fit needs positive measured values and weights: " + target.name);
      sum += target.weight;
    }
    if (targets.empty()) throw std::invalid_argument("a fit needs measured values");
    for (const FitTarget& target : targets) weights_.push_back(target.weight / sum);
  }

  std::vector<double> start() const {
    std::vector<double> x;
    for (const FitParameter& p : parameters_) x.push_back(std::log(p.start));
    return x;
  }

  std::vector<double> predictions(const std::vector<double>& x) {
    ++evaluations_;
    std::vector<double> values(x.size());
    std::ranges::transform(x, values.begin(), [](double log) { return std::exp(log); });
    return predict_(values);
  }

  // ln(predicted / measured) of each target.
  Eigen::VectorXd residuals(const std::vector<double>& x) {
    const std::vector<double> predicted = predictions(x);
    Eigen::VectorXd r(static_cast<Eigen::Index>(targets_.size()));
    for (std::size_t i = 0; i < targets_.size(); ++i)
      r[static_cast<Eigen::Index>(i)] = predicted.at(i) > 0 ? std::log(predicted[i] / targets_[i].measured) : kHopeless;
    return r;
  }

  double mean_square(const Eigen::VectorXd& r) const {
    double sum = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i)
      sum += weights_[i] * r[static_cast<Eigen::Index>(i)] * r[static_cast<Eigen::Index>(i)];
    return sum;
  }

  double objective(const std::vector<double>& x) {
    double penalty = 0;
    for (std::size_t j = 0; j < x.size(); ++j) penalty += std::pow(x[j] - std::log(parameters_[j].start), 2);
    return mean_square(residuals(x)) + options_.prior * penalty;
  }

  // d ln(prediction i) / d ln(parameter j), times the root of target i's weight.
  Eigen::MatrixXd jacobian(const std::vector<double>& x) {
    Eigen::MatrixXd j(static_cast<Eigen::Index>(targets_.size()), static_cast<Eigen::Index>(x.size()));
    for (std::size_t k = 0; k < x.size(); ++k) {
      std::vector<double> up = x, down = x;
      up[k] += options_.step;
      down[k] -= options_.step;
      j.col(static_cast<Eigen::Index>(k)) = (residuals(up) - residuals(down)) / (2 * options_.step);
    }
    for (std::size_t i = 0; i < weights_.size(); ++i) j.row(static_cast<Eigen::Index>(i)) *= std::sqrt(weights_[i]);
    return j;
  }

  const std::vector<FitParameter>& parameters() const { return parameters_; }
  const std::vector<FitTarget>& targets() const { return targets_; }
  const FitOptions& options() const { return options_; }
  int evaluations() const { return evaluations_; }

 private:
  const std::vector<FitParameter>& parameters_;
  const std::vector<FitTarget>& targets_;
  const Predict& predict_;
  const FitOptions& options_;
  std::vector<double> weights_;
  int evaluations_ = 0;
};

std::vector<double> minimise(Problem& problem) {
  std::vector<double> x = problem.start();
  // BOBYQA interpolates in at least two dimensions.
  nlopt::opt search(x.size() < 2 ? nlopt::LN_NELDERMEAD : nlopt::LN_BOBYQA, static_cast<unsigned>(x.size()));
  std::vector<double> lower, upper;
  for (const FitParameter& p : problem.parameters()) {
    lower.push_back(std::log(p.lower));
    upper.push_back(std::log(p.upper));
  }
  search.set_lower_bounds(lower);
  search.set_upper_bounds(upper);
  search.set_initial_step(problem.options().step);
  search.set_maxeval(problem.options().evaluations);
  search.set_xtol_abs(1e-4);
  search.set_min_objective([](const std::vector<double>& at, std::vector<double>&,
                              void* data) { return static_cast<Problem*>(data)->objective(at); },
                           &problem);
  double best = 0;
  try {
    search.optimize(x, best);
  } catch (const nlopt::roundoff_limited&) {
    // As good as it gets: `x` holds the best point.
  }
  return x;
}

// What the weighted Jacobian says. Estimates are those of the linearised problem without the prior.
std::vector<ParameterTrust> judge(const Problem& problem, const Eigen::MatrixXd& jacobian, double mean_square) {
  const auto count = static_cast<std::size_t>(jacobian.cols());
  std::vector<ParameterTrust> trust(count);
  std::vector<Eigen::Index> effective;
  for (std::size_t k = 0; k < count; ++k) {
    const auto column = jacobian.col(static_cast<Eigen::Index>(k));
    trust[k].sensitivity = column.norm();
    trust[k].uncertainty = std::numeric_limits<double>::infinity();
    if (trust[k].sensitivity < kNoEffect) continue;
    Eigen::Index most = 0;
    column.cwiseAbs().maxCoeff(&most);
    trust[k].most_sensitive = problem.targets()[static_cast<std::size_t>(most)].name;
    effective.push_back(static_cast<Eigen::Index>(k));
  }
  if (effective.empty()) return trust;

  // Columns of unit length, so that a direction nothing determines shows as a small eigenvalue.
  const auto n = static_cast<Eigen::Index>(effective.size());
  Eigen::MatrixXd unit(jacobian.rows(), n);
  for (Eigen::Index a = 0; a < n; ++a) unit.col(a) = jacobian.col(effective[static_cast<std::size_t>(a)]).normalized();
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(unit.transpose() * unit);
  const Eigen::VectorXd inverse = eigen.eigenvalues().cwiseMax(1e-9).cwiseInverse();
  const Eigen::MatrixXd covariance = eigen.eigenvectors() * inverse.asDiagonal() * eigen.eigenvectors().transpose();

  const double freedom = std::max(1.0, static_cast<double>(problem.targets().size()) - static_cast<double>(n));
  const double variance = mean_square / freedom;  // of a residual whose weight is one
  for (Eigen::Index a = 0; a < n; ++a) {
    ParameterTrust& t = trust[static_cast<std::size_t>(effective[static_cast<std::size_t>(a)])];
    t.uncertainty = std::sqrt(variance * covariance(a, a)) / t.sensitivity;
    for (Eigen::Index b = 0; b < n; ++b)
      if (b != a && std::abs(covariance(a, b)) > kTradesAgainst * std::sqrt(covariance(a, a) * covariance(b, b)))
        t.partners.push_back(
            problem.parameters()[static_cast<std::size_t>(effective[static_cast<std::size_t>(b)])].name);
    // Ten times the variance it would have alone: the others explain 90 % of what it does.
    t.identifiable = covariance(a, a) < 10;
  }
  return trust;
}

}  // namespace

Fit fit(const std::vector<FitParameter>& parameters, const std::vector<FitTarget>& targets, const Predict& predict,
        const FitOptions& options) {
  Problem problem(parameters, targets, predict, options);
  Fit result;
  result.error_before = std::sqrt(problem.mean_square(problem.residuals(problem.start())));
  const std::vector<double> x = minimise(problem);
  result.predictions = problem.predictions(x);
  const double mean_square = problem.mean_square(problem.residuals(x));
  result.error_after = std::sqrt(mean_square);
  result.trust = judge(problem, problem.jacobian(x), mean_square);
  std::ranges::transform(x, std::back_inserter(result.values), [](double log) { return std::exp(log); });
  result.evaluations = problem.evaluations();
  return result;
}

}  // namespace uvmsim
