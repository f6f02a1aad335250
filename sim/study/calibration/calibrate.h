// Fits named parameters of a machine to the cases that are there for it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "study/calibration/fit.h"
#include "study/validation/case_family.h"

namespace uvmsim {

struct CalibrationRequest {
  std::string machine;  // a machine file
  CaseSources cases;    // families of role calibration; cases of other machines are left aside
  // Keys of the machine section, such as "gpu.driver_costs.batch": times that are not zero.
  std::vector<std::string> parameters;
  int processes = 1;       // simulations at a time
  FitOptions search = {};  // how long to search, and how strongly what is not determined is held
  double bound = 10;       // how many times larger or smaller than it is a parameter may become
  std::function<void(double evaluations)> progress = {};  // sets of simulations so far, with the share done of this one
};

struct Calibration {
  std::string machine;                // its name
  std::vector<std::string> families;  // that were fitted to
  std::vector<FitParameter> parameters;
  std::vector<FitTarget> targets;
  std::vector<double> before;  // predictions of the targets with the machine as it was
  Fit fit;
};

// The times of the driver's steps that are not zero: what is fitted when nothing is named.
std::vector<std::string> calibration_parameters(const std::string& machine);

// Families weigh the same, and so do the values of a family. Values that must be exact are left aside: no time moves
// them. Throws UserError for what cannot be read, for a family that judges, a parameter that is no time above zero,
// and when no case runs on the machine.
Calibration calibrate(const CalibrationRequest& request, const std::vector<Measurement>& measurements);

// The machine with its fitted values, each with its status and source, as a file in `folder`.
std::string machine_text(const Calibration& calibration, const std::string& machine, const std::string& folder);

// For people: parameters with how far they can be trusted, then values before and after.
std::string calibration_text(const Calibration& calibration);
// The same for programs.
std::string calibration_json(const Calibration& calibration);

}  // namespace uvmsim
