// A mixed-integer linear program as a value: minimise a linear objective under linear rows.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace uvmsim {

struct MipVariable {
  std::string name;     // letters, digits and '_', beginning with a letter; unique
  bool binary = false;  // else continuous and >= 0
  double objective = 0;
};

struct MipRow {  // sum of coefficient * variable >= least
  std::vector<std::pair<std::size_t, double>> terms;
  double least = 0;
};

class MipModel {
 public:
  std::size_t add_variable(std::string name, bool binary, double objective = 0);
  void add_row(std::vector<std::pair<std::size_t, double>> terms, double least) {
    rows_.push_back({std::move(terms), least});
  }
  const std::vector<MipVariable>& variables() const { return variables_; }
  const std::vector<MipRow>& rows() const { return rows_; }
  std::size_t binaries() const;

  // In the LP format of CPLEX, which CBC, GLPK and HiGHS read.
  std::string to_lp() const;

 private:
  std::vector<MipVariable> variables_;
  std::vector<MipRow> rows_;
};

struct MipLimits {
  std::int64_t nodes = 10'000;  // of the search; what it ends is the same on every machine
  double seconds = 600;         // of processor time, should nodes take that long: what it ends is not
  double gap = 0.01;            // relative, at which the solver may stop
};

struct MipSolution {
  // Feasible: stopped by a limit. None: no solution within the limits. Failed: the solver died, see `trouble`.
  enum class Status { Optimal, Feasible, Infeasible, None, Failed };
  Status status = Status::None;
  bool out_of_time = false;  // MipLimits::seconds stopped it
  std::string trouble = {};
  double objective = 0;
  double bound = 0;                 // no solution is better; of Optimal and Feasible
  std::vector<double> values = {};  // by variable; empty without a solution
};

// How the solver ended: "optimal", "within 0.81 % of the optimum", with the limit that stopped it, or why there is no
// solution.
std::string text_of(const MipSolution& solution);

}  // namespace uvmsim
