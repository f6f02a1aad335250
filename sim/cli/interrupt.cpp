#include "cli/interrupt.h"

#include <atomic>
#include <ostream>
#include <unistd.h>

#include "cli/output_file.h"

namespace uvmsim {
namespace {

std::atomic<bool> requested = false;
static_assert(std::atomic<bool>::is_always_lock_free);

}  // namespace

EndOnRequest::EndOnRequest() {
  struct sigaction action {};
  action.sa_handler = [](int) {
    if (!requested.exchange(true)) return;
    remove_temporary_files();
    _exit(static_cast<int>(ExitCode::Interrupted));
  };
  sigaction(SIGINT, &action, &interrupt_);
  sigaction(SIGTERM, &action, &terminate_);
}

EndOnRequest::~EndOnRequest() {
  sigaction(SIGINT, &interrupt_, nullptr);
  sigaction(SIGTERM, &terminate_, nullptr);
}

bool end_requested() { return requested; }

void end_interrupted(Console& console) {
  console.err << "uvmsim: interrupted: the results are those that were finished\n";
  console.exit = ExitCode::Interrupted;
}

}  // namespace uvmsim
