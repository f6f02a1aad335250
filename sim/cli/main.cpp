#include <csignal>
#include <iostream>
#include <unistd.h>

#include "cli/program.h"

int main(int argc, char** argv) {
  using uvmsim::ExitCode;
  // A broken UVMSIM_CHECK has printed where and why by the time it aborts.
  std::signal(SIGABRT, [](int) { _exit(static_cast<int>(ExitCode::OwnFault)); });
  std::signal(SIGINT, [](int) { _exit(static_cast<int>(ExitCode::Interrupted)); });
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return static_cast<int>(uvmsim::run_program(arguments, std::cout, std::cerr));
}
