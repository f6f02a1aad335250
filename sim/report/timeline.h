// Timelines for trace viewers (Perfetto, chrome://tracing).
#pragma once

#include <functional>
#include <string_view>

#include "observe/timeline.h"

namespace uvmsim {

// Gets a file piece by piece.
using TextSink = std::function<void(std::string_view)>;

// The Trace Event Format ("Chrome JSON"): one object with `traceEvents`. Times are microseconds with the simulation's
// picoseconds as decimals. A row is a thread of the process that its group is; slices are complete events ("X") with
// what a merged one stands for as arguments, counters are "C", iterations are instants, and flows ("s", "t", "f") lead
// from a fault batch over its copies to its replay.
void write_chrome_json(const Timeline& timeline, const TextSink& sink);

// Perfetto's own protobuf (`perfetto.protos.Trace`), the same content; times are nanoseconds.
void write_perfetto(const Timeline& timeline, const TextSink& sink);

}  // namespace uvmsim
