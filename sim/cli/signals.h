// How the program ends when a signal does it.
#pragma once

namespace uvmsim {

// From now on SIGINT, SIGABRT and crashes end the process with this program's exit status, and a line on stderr.
// SimGrid and MPI have answers of their own.
void answer_signals();

}  // namespace uvmsim
