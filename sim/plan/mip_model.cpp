#include "plan/mip_model.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace uvmsim {
namespace {

std::string number(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return {text, end};
}

}  // namespace

std::size_t MipModel::add_variable(std::string name, bool binary, double objective) {
  variables_.push_back({std::move(name), binary, objective});
  return variables_.size() - 1;
}

std::size_t MipModel::binaries() const {
  return static_cast<std::size_t>(std::ranges::count_if(variables_, &MipVariable::binary));
}

std::string MipModel::to_lp() const {
  const auto term = [&](double coefficient, std::size_t v) {
    return (coefficient < 0 ? " - " : " + ") + number(coefficient < 0 ? -coefficient : coefficient) + " " +
           variables_[v].name;
  };
  std::string text = "Minimize\n obj:";
  for (std::size_t v = 0; v < variables_.size(); ++v)
    if (variables_[v].objective != 0) text += term(variables_[v].objective, v);
  text += "\nSubject To\n";
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    text += " r" + std::to_string(r) + ":";
    for (const auto& [v, coefficient] : rows_[r].terms) text += term(coefficient, v);
    text += " >= " + number(rows_[r].least) + "\n";
  }
  text += "Binaries\n";
  for (const MipVariable& v : variables_)
    if (v.binary) text += " " + v.name + "\n";
  return text + "End\n";
}

std::string text_of(const MipSolution& solution) {
  switch (solution.status) {
    case MipSolution::Status::Infeasible:
      return "the program is infeasible";
    case MipSolution::Status::None:
      return "the solver found nothing within its limits";
    case MipSolution::Status::Failed:
      return "the solver failed: " + solution.trouble;
    case MipSolution::Status::Optimal:
    case MipSolution::Status::Feasible:
      break;
  }
  const double above = solution.objective - solution.bound, gap = above > 0 ? above / solution.objective : 0;
  std::string text = gap < 1e-4 ? "optimal" : "within " + number(std::round(gap * 1e4) / 100) + " % of the optimum";
  if (solution.status == MipSolution::Status::Feasible)
    text += solution.out_of_time ? ", stopped by the time limit, so that it depends on the machine's speed"
                                 : ", stopped by the limit of nodes";
  return text;
}

}  // namespace uvmsim
