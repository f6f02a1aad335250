#include "study/mip_solver.h"

#include <map>
#include <sstream>
#include <string_view>

#include "study/child_program.h"
#include "study/experiment.h"
#include "study/shared_work.h"
#include "study/temporary_folder.h"

namespace uvmsim {
namespace {

constexpr std::string_view kSolution = "\n--- solution\n";

// What CBC says about the model `problem`: its log, a line kSolution, its solution; or '!' and why there is none; "":
// there is no such program.
std::string run_cbc(const std::string& problem, const std::string& start, const MipLimits& limits) {
  const TemporaryFolder folder;
  folder.write("model.lp", problem);
  std::vector<std::string> arguments = {"cbc", folder.file("model.lp")};
  if (!start.empty()) {
    folder.write("start.txt", "start\n" + start);
    arguments.insert(arguments.end(), {"-mipstart", folder.file("start.txt")});
  }
  const std::vector<std::string> rest = {"-maxNodes",
                                         std::to_string(limits.nodes),
                                         "-sec",
                                         std::to_string(limits.seconds),
                                         "-ratio",
                                         std::to_string(limits.gap),
                                         "-solve",
                                         "-solution",
                                         folder.file("solution.txt")};
  std::string trouble;
  // CBC 2.10 aborts on some models ("crunch(): Assertion `whichRow[i] ...' failed"), most of which it solves without
  // its preprocessing.
  for (const bool preprocess : {true, false}) {
    std::vector<std::string> all = arguments;
    if (!preprocess) all.insert(all.end(), {"-preprocess", "off"});
    all.insert(all.end(), rest.begin(), rest.end());
    const std::optional<ProgramEnding> ending = run_child_program(all, folder.file("log.txt"));
    if (!ending) return "";
    if (const std::optional<std::string> solution = read_text_file(folder.file("solution.txt")))
      return read_text_file(folder.file("log.txt")).value_or("").append(kSolution).append(*solution);
    trouble = "!cbc wrote no solution, " + ending->text();
  }
  return trouble;
}

// The number behind the last "Lower bound:" of a log, which CBC writes unless it proved its solution optimal.
std::optional<double> bound_in(std::string_view log) {
  constexpr std::string_view kBound = "Lower bound:";
  const std::size_t at = log.rfind(kBound);
  if (at == std::string_view::npos) return std::nullopt;
  return std::strtod(std::string(log.substr(at + kBound.size(), 40)).c_str(), nullptr);
}

}  // namespace

MipSolution read_cbc_solution(const std::string& text, const MipModel& model) {
  std::istringstream in(text);
  std::string line;
  std::getline(in, line);
  MipSolution solution;
  if (line.find("nfeasible") != std::string::npos) {
    solution.status = MipSolution::Status::Infeasible;
    return solution;
  }
  if (line.find("no integer solution") != std::string::npos) return solution;
  const bool optimal = line.starts_with("Optimal");
  if (!optimal && !line.starts_with("Stopped")) return solution;
  solution.status = optimal ? MipSolution::Status::Optimal : MipSolution::Status::Feasible;
  solution.out_of_time = line.find("time") != std::string::npos;
  solution.objective = solution.bound = std::strtod(line.c_str() + line.rfind(' '), nullptr);
  std::map<std::string, std::size_t> index;
  for (std::size_t v = 0; v < model.variables().size(); ++v) index[model.variables()[v].name] = v;
  solution.values.assign(model.variables().size(), 0);
  while (std::getline(in, line)) {  // "      3 x_1   1   0", "**" before values out of bounds by rounding
    std::istringstream words(line);
    std::string word, name, value;
    words >> word;
    if (word == "**") words >> word;
    words >> name >> value;
    if (const auto found = index.find(name); found != index.end())
      solution.values[found->second] = std::strtod(value.c_str(), nullptr);
  }
  return solution;
}

std::optional<MipSolution> solve_with_cbc(const MipModel& model, const MipLimits& limits,
                                          const std::vector<std::pair<std::size_t, bool>>& start) {
  const std::string lp = model.to_lp();
  std::string begin;
  for (std::size_t n = 0; n < start.size(); ++n)
    begin += std::to_string(n) + " " + model.variables()[start[n].first].name + (start[n].second ? " 1\n" : " 0\n");
  const std::string limit = std::to_string(limits.nodes) + " " + std::to_string(limits.seconds) + " ";
  const std::string said = done_once("cbc " + limit + std::to_string(limits.gap) + "\n" + begin + lp,
                                     [&] { return run_cbc(lp, begin, limits); });
  if (said.empty()) return std::nullopt;
  if (said.front() == '!') return MipSolution{.status = MipSolution::Status::Failed, .trouble = said.substr(1)};
  const std::size_t end = said.rfind(kSolution);
  MipSolution solution = read_cbc_solution(said.substr(end + kSolution.size()), model);
  const double proved = solution.status == MipSolution::Status::Optimal ? solution.objective : 0;
  solution.bound = bound_in(said.substr(0, end)).value_or(proved);
  return solution;
}

}  // namespace uvmsim
