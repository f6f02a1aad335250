// Validation cases: what to simulate, and which number of the result stands next to which measured one.
// The format is described in validation/FORMAT.md.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "study/experiment.h"
#include "study/validation/expression.h"
#include "study/validation/measurement.h"

namespace uvmsim {

// Costs may be fitted to Calibration, Validation judges, and a Claim is what a paper says of its own system: it is
// judged apart, by what counts as the same.
enum class Role { Calibration, Validation, Claim };
std::string_view name_of(Role role);

// What is compared.
//   Value    the number itself, within the tolerance
//   AtMost   the measured number is a bound that the prediction may pass by the tolerance only; AtLeast: the same
//   Outcome  how the run ended
//   Sign     on which side of 1 a ratio is
//   Range    the prediction is in `range`: of a Claim, what counts as the same as the value
enum class Criterion { Value, AtMost, AtLeast, Outcome, Sign, Range };

// How far predicted may be from measured.
struct Tolerance {
  double relative = 0;  // share of the measured value
  std::string reason;
};

struct MeasuredValue {
  std::string name;       // its id, else its metric; unique in the case
  std::string metric;     // as written
  Expression expression;  // of the metric; its names start with a run's when the case has several. Not of an Outcome
  Criterion criterion = Criterion::Value;
  std::string id;  // of the Measurement; "" when the value is given in the case
  double value = 0;
  double least = 0, most = 0;  // of a Range
  std::string outcome;         // of an Outcome
  std::string unit;
  double unit_factor = 1;
  std::optional<double> uncertainty;  // share of the value
  std::string trust, source;
  Tolerance tolerance;  // of a Value, AtMost or AtLeast
  bool input = false;   // of a Claim: follows from what the case was told, counts for nothing
  std::string why;      // of a Claim: what makes the difference, or what the case rests on; "": nothing to say
  int deviation = 0;    // the number of validation/DEVIATIONS.md that says why it may be outside; 0: none
};

struct CaseRun {
  std::string name;  // "" when the case has one run
  Experiment experiment;
  std::string identity;  // equal for runs that simulate the same
  // What the metrics ask of it: a simulation, how much memory a plan needs, how its data gets to it, the
  // largest values of parameters.
  bool simulated = false, need = false, loading = false;
  std::set<std::string> largest = {};
};

struct ValidationCase {
  std::string name;
  std::vector<CaseRun> runs;
  std::vector<MeasuredValue> measured;
  bool slow = false;  // left out of quick validations

  const CaseRun* find_run(std::string_view run) const;
};

struct CaseFamily {
  std::string name, title, origin;
  std::string file;
  Role role = Role::Validation;
  std::vector<ValidationCase> cases;
};

struct CaseSources {
  std::vector<std::string> files;     // one family each
  std::string configs_folder;         // where files that are not next to a case file are looked for
  std::vector<std::string> settings;  // "a.b=value", applied to every run last
  // Runs are made smaller as the "surrogate" of their families says: for how values move with costs, not for values.
  bool surrogates = false;
};

// Reads the families, in the order of their names. Throws UserError with the faults of all files.
std::vector<CaseFamily> read_families(const CaseSources& sources, const std::vector<Measurement>& measurements);

// Which run of `of` the name in a metric means and what of its result: {"fast", "duration_s"}; {"", "duration_s"}
// when the case has one run.
struct RunAndName {
  std::string run, name;
};
RunAndName split_name(const ValidationCase& of, const std::string& name);

}  // namespace uvmsim
