#pragma once

namespace uvmcap {

class Recorder;

// Begins to record this process, as the environment says (settings.h), once. What goes wrong is said on stderr and in
// the file; the program goes on in any case.
void start_session();

// Of the session that records; nullptr before and when there is none.
Recorder* session_recorder();

// Everything that is complete reaches the file.
void flush_session();

}  // namespace uvmcap
