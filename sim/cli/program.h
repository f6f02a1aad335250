// The command line: what every verb is given, and how the program ends.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace uvmsim {

enum class ExitCode : int {
  Done = 0,
  CheckFailed = 1,      // a comparison or validation did not hold
  InputError = 2,       // the input is wrong: a flag, a config, a trace
  SetupImpossible = 3,  // a file cannot be written, memory cannot be had, a child cannot be started
  Incomplete = 4,       // the simulated run did not complete: out of memory, deadlock
  InternalError = 5,    // an error of this program
  Interrupted = 130
};

class Peers;

// What a verb writes to and leaves behind. Verbs throw UserError for the user's errors.
struct Console {
  std::ostream& out;
  std::ostream& err;
  ExitCode exit = ExitCode::Done;
  Peers* peers = nullptr;  // of uvmsim-mpi: the processes that share a sweep
};

// Runs `uvmsim ARGUMENTS` and returns its exit status. The only place that catches.
ExitCode run_program(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err,
                     Peers* peers = nullptr);

}  // namespace uvmsim
