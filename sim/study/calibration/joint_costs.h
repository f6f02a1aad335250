// One cost model for all hosts, fitted to the calibration cases of all of them in one go.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/units.h"
#include "study/calibration/joint_fit.h"
#include "study/validation/case_family.h"

namespace uvmsim {

// What is known before the fit: validation/joint_costs.json.
struct JointCostsDescription {
  struct Step {
    std::string name;  // of DriverCosts
    Duration common{};
    bool fitted = false;
    std::string source;  // of a step that is not fitted
  };
  struct Host {
    std::string name;                   // of its file: "titan_v"
    std::string kind;                   // hosts of one kind have more in common
    std::vector<std::string> machines;  // whose cases are its: "TITAN V"
    double slowness = 1;
    std::string source;
  };
  StepTimes common() const;  // of all steps

  std::string file;
  std::vector<Step> steps;
  std::vector<Host> hosts;
  JointPrior prior;
  double model_error = 0;         // scale of ln(predicted / measured) of one value when the costs are right
  double degrees_of_freedom = 0;  // of the t distribution of these errors
};

// Throws UserError with every fault.
JointCostsDescription read_joint_costs(const std::string& path);

// "machine.gpu.driver_costs.batch=28 us" for each step, times in seconds.
std::vector<std::string> cost_settings(const JointCostsDescription& of, const StepTimes& times);

// How far a fit is: the iteration, counted from 0, and how much of one of its sets of simulations is done.
struct JointCostsProgress {
  int iteration = 0;
  double work = 0;  // simulations, with the parts done of those under way
  std::size_t simulations = 0;
};

struct JointCostsRequest {
  JointCostsDescription description;
  CaseSources cases;                                             // families of role calibration; others are left aside
  int processes = 1;                                             // simulations at a time
  std::function<void(const JointCostsProgress&)> progress = {};  // called five times a second
};

struct JointCosts {
  JointCostsDescription description;
  std::vector<std::vector<std::string>> families;  // by host: that it was fitted to
  JointProblem problem;                            // its functions are empty
  JointFit fit;
};

// Targets are the times among the calibration cases' values: counts move with costs by accident only. The n values of
// one family on one host share their errors and count as the root of n. Throws UserError for cases that cannot be read,
// a `left_out` that is no host, and when no case runs on any host.
JointCosts fit_joint_costs(const JointCostsRequest& request, const std::vector<Measurement>& measurements);

// The machine section's `driver_costs` of a host, as a file that extends driver.json next to it. `left_out`: as they
// would be without the host's own cases.
std::string costs_file(const JointCosts& costs, std::size_t host, bool left_out);

// Machines of hosts that have cases of their own.
std::vector<std::string> machines_with_cases(const JointCostsDescription& description);

// The families of those machines, as they are with the costs that a fit without their host's cases gives:
// FOLDER/<host>.json, files of costs_file. Hosts whose file is missing are left aside. Throws UserError for files that
// cannot be read.
std::vector<CaseFamily> left_out_families(const JointCostsDescription& description, const std::string& folder,
                                          const CaseSources& cases, const std::vector<Measurement>& measurements);

// For people: steps by host, then values before and after.
std::string joint_costs_text(const JointCosts& costs);

}  // namespace uvmsim
