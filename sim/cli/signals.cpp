#include "cli/signals.h"

#include <array>
#include <csignal>
#include <string_view>
#include <unistd.h>

#include "cli/output_file.h"
#include "cli/program.h"

namespace uvmsim {
namespace {

bool on_terminal = false;  // a progress bar may stand there

void say(std::string_view line) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

// Handlers end the process with calls that are safe in the middle of anything.
void end_interrupted(int) {
  remove_temporary_files();
  say(on_terminal ? "\r\x1b[Kuvmsim: interrupted\n" : "uvmsim: interrupted\n");
  _exit(static_cast<int>(ExitCode::Interrupted));
}

// A broken UVMSIM_CHECK has printed where and why by the time it aborts.
void end_aborted(int) { _exit(static_cast<int>(ExitCode::InternalError)); }

void end_crashed(int signal) {
  const std::string_view line = signal == SIGSEGV  ? "uvmsim: internal error: bad memory access or stack overflow\n"
                                : signal == SIGBUS ? "uvmsim: internal error: bus error\n"
                                                   : "uvmsim: internal error: integer division by zero\n";
  say(line);
  _exit(static_cast<int>(ExitCode::InternalError));
}

void answer(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_ONSTACK;  // after a stack overflow there is no other
  sigaction(signal, &action, nullptr);
}

}  // namespace

void answer_signals() {
  static std::array<char, 64 * 1024> stack;
  const stack_t own{.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
  sigaltstack(&own, nullptr);
  on_terminal = isatty(STDERR_FILENO) != 0;
  answer(SIGINT, end_interrupted);
  answer(SIGABRT, end_aborted);
  for (const int crash : {SIGSEGV, SIGBUS, SIGFPE}) answer(crash, end_crashed);
}

}  // namespace uvmsim
