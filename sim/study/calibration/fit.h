// Fits positive parameters of a black box to measured values, and says how far the fit can be trusted.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace uvmsim {

// One parameter: where the search starts and what it may become. All positive; the search runs over logarithms.
struct FitParameter {
  std::string name;
  double start = 0, lower = 0, upper = 0;
};

// One measured value, positive. Weights are relative: the fit normalises their sum to one.
struct FitTarget {
  std::string name;
  double measured = 0;
  double weight = 1;
};

// What the model predicts for each target, in their order, with these parameter values.
using Predict = std::function<std::vector<double>(const std::vector<double>& values)>;

struct FitOptions {
  int evaluations = 400;
  // Adds prior * (ln value/start)^2 per parameter: what no target determines stays where it was.
  double prior = 1e-4;
  double step = 0.1;  // of the logarithm: for the sensitivities, and the first step of the search
};

// What the targets say about one parameter at the solution.
struct ParameterTrust {
  double sensitivity = 0;      // weighted root mean square over the targets of d ln(prediction) / d ln(parameter)
  std::string most_sensitive;  // the target that it moves most; empty: none
  double uncertainty = 0;      // standard error of ln(parameter), from the residuals; infinite: not determined
  bool identifiable = false;   // moves the targets, and no combination of the others does the same
  std::vector<std::string> partners;  // parameters it trades against: correlation of the estimates beyond 0.9
};

struct Fit {
  std::vector<double> values;                // of the parameters
  std::vector<double> predictions;           // of the targets, with them
  double error_before = 0, error_after = 0;  // weighted root mean square of ln(predicted / measured)
  std::vector<ParameterTrust> trust;
  int evaluations = 0;  // calls of `predict`
};

// Minimises the weighted mean square of ln(predicted / measured) within the bounds, by NLopt's BOBYQA; then takes
// central differences around the solution. Same input, same output. A prediction that is not positive counts as
// 1000 times off. Throws std::invalid_argument when there are no parameters or targets, or one is not positive.
Fit fit(const std::vector<FitParameter>& parameters, const std::vector<FitTarget>& targets, const Predict& predict,
        const FitOptions& options = {});

}  // namespace uvmsim
