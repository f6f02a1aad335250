#include "study/mip_solver.h"

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <spawn.h>
#include <sstream>
#include <stdexcept>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "trace/digest.h"

namespace uvmsim {
namespace {

namespace fs = std::filesystem;

std::string make_folder() {
  std::string name = (fs::temp_directory_path() / "uvmsim-mip-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), name);
  return name;
}

// A folder that goes when this does.
class TemporaryFolder {
 public:
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder() = default;
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_ = make_folder();
};

std::string shared_folder;  // of the SharedSolutions that lives; "": none does

// Where the solution of a problem stands for other processes; "": nowhere.
std::string shared_file(const std::string& problem, const std::string& start, const MipLimits& limits) {
  if (shared_folder.empty()) return "";
  trace::Digest digest;
  digest.add(problem);
  digest.add(start);
  digest.add(std::to_string(limits.seconds) + " " + std::to_string(limits.gap));
  return shared_folder + "/" + digest.hex();
}

std::optional<std::string> text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

void write(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) throw std::system_error(errno, std::generic_category(), path);
}

// How a program ended; nullopt: there is no such program.
struct Ending {
  int status = 0;
  bool by_signal = false;
  std::string text() const { return (by_signal ? "ended by signal " : "exit status ") + std::to_string(status); }
};
std::optional<Ending> run_program(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int handle : {STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&actions, handle, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) return std::nullopt;
  if (error != 0) throw std::system_error(error, std::generic_category(), arguments[0]);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), arguments[0]);
  if (WIFSIGNALED(status)) return Ending{WTERMSIG(status), true};
  return Ending{WEXITSTATUS(status), false};
}

// What others find there is whole.
void share(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  const std::string unfinished = path + "." + std::to_string(getpid());
  write(unfinished, text);
  fs::rename(unfinished, path);
}

}  // namespace

SharedSolutions::SharedSolutions() : outer_(std::exchange(shared_folder, make_folder())) {}

SharedSolutions::~SharedSolutions() {
  std::error_code ignored;
  fs::remove_all(std::exchange(shared_folder, outer_), ignored);
}

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
  solution.objective = std::strtod(line.c_str() + line.rfind(' '), nullptr);
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
  const std::string shared = shared_file(lp, begin, limits);
  if (const std::optional<std::string> known = text_of(shared)) return read_cbc_solution(*known, model);

  const TemporaryFolder folder;
  const std::string problem = folder.file("model.lp"), result = folder.file("solution.txt");
  write(problem, lp);
  std::vector<std::string> arguments = {"cbc", problem};
  if (!begin.empty()) {
    write(folder.file("start.txt"), "start\n" + begin);
    arguments.insert(arguments.end(), {"-mipstart", folder.file("start.txt")});
  }
  const std::vector<std::string> rest = {"-sec",     std::to_string(limits.seconds),
                                         "-ratio",   std::to_string(limits.gap),
                                         "-threads", "1",
                                         "-solve",   "-solution",
                                         result};
  std::string trouble;
  // CBC 2.10 aborts on some models ("crunch(): Assertion `whichRow[i] ...' failed"), most of which it solves without
  // its preprocessing.
  for (const bool preprocess : {true, false}) {
    std::vector<std::string> all = arguments;
    if (!preprocess) all.insert(all.end(), {"-preprocess", "off"});
    all.insert(all.end(), rest.begin(), rest.end());
    const std::optional<Ending> ending = run_program(all);
    if (!ending) return std::nullopt;
    if (const std::optional<std::string> text = text_of(result)) {
      share(shared, *text);
      return read_cbc_solution(*text, model);
    }
    trouble = "cbc wrote no solution, " + ending->text();
  }
  return MipSolution{.status = MipSolution::Status::Failed, .trouble = trouble};
}

}  // namespace uvmsim
