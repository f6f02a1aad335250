#include "plan/mip_model.h"

#include <algorithm>
#include <charconv>

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

}  // namespace uvmsim
