#include <iostream>

#include "cli/program.h"
#include "cli/signals.h"

int main(int argc, char** argv) {
  uvmsim::answer_signals();
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return static_cast<int>(uvmsim::run_program(arguments, std::cout, std::cerr));
}
