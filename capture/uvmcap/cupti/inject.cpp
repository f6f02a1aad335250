#include "recorder.h"
#include "session.h"
#include "uvmcap.h"

// What the CUDA driver and the recorded program call.

// The driver loads the library that CUDA_INJECTION64_PATH names at cuInit and calls this; anything but 1 would end
// cuInit.
extern "C" __attribute__((visibility("default"))) int InitializeInjection(void) {
  uvmcap::start_session();
  return 1;
}

void uvmcap_push(uint64_t id) { uvmcap::push_external(id); }

void uvmcap_pop(void) { uvmcap::pop_external(); }

void uvmcap_mark(const char* text) {
  uvmcap::Recorder* recorder = uvmcap::session_recorder();
  if (recorder == nullptr || text == nullptr) return;
  recorder->write(uvmcap::Mark{recorder->now(), uvmcap::thread_number(), text});
}

void uvmcap_flush(void) { uvmcap::flush_session(); }

int uvmcap_active(void) { return uvmcap::session_recorder() != nullptr ? 1 : 0; }
