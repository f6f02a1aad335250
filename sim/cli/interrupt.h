// Commands that stop in good order when they are interrupted, with what is finished by then.
#pragma once

#include <csignal>

#include "cli/program.h"

namespace uvmsim {

// While it lives, the first SIGINT or SIGTERM is remembered instead of ending the program; the second ends it.
class EndOnRequest {
 public:
  EndOnRequest();
  ~EndOnRequest();
  EndOnRequest(const EndOnRequest&) = delete;
  EndOnRequest& operator=(const EndOnRequest&) = delete;

 private:
  struct sigaction interrupt_ {
  }, terminate_{};
};

// Whether there was such a signal.
bool end_requested();

// Says so, and that it is why results are missing; the exit status is Interrupted.
void end_interrupted(Console& console);

}  // namespace uvmsim
