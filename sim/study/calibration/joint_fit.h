// Fits what steps cost on several hosts together, so that a host with few measurements borrows from the others.
//
//   ln(time of step k on host h) = common_k + kind_hk + slowness_h + own_hk
//
// where kind_hk is what hosts of h's kind (a desktop, a server, a virtual machine) have in common. All four are unknown
// and have normal priors: partial pooling. A step that is not fitted has kind = own = 0 and the common value that it
// was given. Gelman and Hill, Data Analysis Using Regression and Multilevel Models, chapter 12.
//
// Errors of the model are of Student's t distribution, so that a value of which it does not know what happens (the
// wrong number of batches) says little about what a batch costs. Lange, Little and Taylor, Robust Statistical Modeling
// Using the t Distribution, JASA 84 (1989).
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace uvmsim {

struct JointStep {
  std::string name;
  double common_s = 0;  // the prior's median on a host of slowness 1
  bool fitted = false;  // else the common value stays what it is
};

// A measured value of one host. `variance` is the squared scale of ln(predicted / measured) when the model is right;
// `weight` is how many values of their own it counts as, since those of one experiment share their errors.
struct JointTarget {
  std::string name;
  double measured = 0;
  double variance = 1;
  double weight = 1;
};

struct JointHost {
  std::string name;
  std::string kind;
  double slowness = 1;               // the prior's median
  std::vector<JointTarget> targets;  // none: predicted from the others alone
};

// Standard deviations of the priors, of logarithms.
struct JointPrior {
  double common = 0, kind = 0, slowness = 0, own = 0;
};

// Times of all steps on one host, in seconds.
using StepTimes = std::vector<double>;

struct JointQuery {
  std::size_t host = 0;
  StepTimes times;
};
// What is predicted for the targets of each query's host.
using JointPredict = std::function<std::vector<std::vector<double>>(const std::vector<JointQuery>&)>;

// What the search takes at most; it mostly gains too little to go on before.
inline constexpr int kJointIterations = 20;

struct JointProblem {
  std::vector<JointStep> steps;
  std::vector<JointHost> hosts;
  JointPrior prior;
  double degrees_of_freedom =
      std::numeric_limits<double>::infinity();  // of the t distribution; infinite: normal errors
  JointPredict predict;                         // the model itself
  JointPredict slope;                 // as cheap as it may be: only how its predictions move with the times is used
  int iterations = kJointIterations;  // at most
  std::function<void(int iteration)> begins = {};
};

struct JointFit {
  std::vector<StepTimes> times;                    // by host
  std::vector<std::vector<double>> uncertainty;    // by host and step: standard deviation of ln(time), linearised
  std::vector<StepTimes> left_out;                 // by host: had its own targets not been there; linearised
  std::vector<double> slowness;                    // by host
  StepTimes common;                                // on a host of slowness 1 and no kind
  std::vector<std::vector<double>> before, after;  // predictions of the targets, by host
  int iterations = 0;
};

// The times whose posterior density is the greatest, by Gauss-Newton steps that are halved until they gain. Slopes cost
// a set of predictions for each fitted step: they are measured at the start, and again where steps by them gain too
// little to go on; in between a step's part in a prediction goes with its time. Same input, same output. Throws
// std::invalid_argument for times, slownesses, variances or measured values that are not positive.
JointFit fit_jointly(const JointProblem& problem);

}  // namespace uvmsim
