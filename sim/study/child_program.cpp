#include "study/child_program.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace uvmsim {
namespace {

// What the child ends with when it could not become the program.
constexpr int kNoSuchProgram = 127, kLost = 126;

[[noreturn]] void become(const std::vector<char*>& argv, const std::string& log, const Environment& environment) {
  const int out = log.empty() ? STDERR_FILENO : open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (out < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(out, STDERR_FILENO) < 0) _exit(kLost);
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  execvp(argv[0], argv.data());
  _exit(errno == ENOENT ? kNoSuchProgram : kLost);
}

}  // namespace

std::optional<ProgramEnding> run_child_program(const std::vector<std::string>& arguments, const std::string& log,
                                               const Environment& environment) {
  std::vector<char*> argv;
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  const pid_t parent = getpid(), child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(kLost);
    become(argv, log, environment);
  }
  if (child < 0) throw std::system_error(errno, std::generic_category(), arguments[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), arguments[0]);
  if (WIFSIGNALED(status)) return ProgramEnding{WTERMSIG(status), true};
  if (WEXITSTATUS(status) == kNoSuchProgram) return std::nullopt;
  return ProgramEnding{WEXITSTATUS(status), false};
}

}  // namespace uvmsim
