// Other programs that this one starts, and waits for.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace uvmsim {

// How a program ended.
struct ProgramEnding {
  int status = 0;
  bool by_signal = false;
  std::string text() const { return (by_signal ? "ended by signal " : "exit status ") + std::to_string(status); }
};

using Environment = std::vector<std::pair<std::string, std::string>>;

// Runs `arguments`, a program of $PATH and what it is given, with `environment` added to this program's own. Its output
// goes to the file `log`; "": to this program's standard error. It dies with this process, however that ends. nullopt:
// there is no such program. Throws std::system_error when there can be no child.
std::optional<ProgramEnding> run_child_program(const std::vector<std::string>& arguments, const std::string& log,
                                               const Environment& environment = {});

}  // namespace uvmsim
