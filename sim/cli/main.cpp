#include <iostream>
#include <optional>
#include <unistd.h>

#include "cli/program.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "report/table.h"

int main(int argc, char** argv) {
  uvmsim::answer_signals();
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  std::optional<uvmsim::PageWidth> page;
  if (isatty(STDOUT_FILENO) != 0) page.emplace(uvmsim::terminal_columns(STDOUT_FILENO));
  return static_cast<int>(uvmsim::run_program(arguments, std::cout, std::cerr));
}
