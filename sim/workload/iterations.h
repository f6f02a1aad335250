// The iterations of a trace: those it marks, and in one that marks none a sequence of kernels that repeats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trace/record.h"

namespace uvmsim {

// A part of a sequence that repeats: `count` times `period` elements from `first` on.
struct Repetition {
  std::int64_t first = 0, period = 0, count = 0;
};

// The repetition of `names` that covers most of it, whole periods only; of those within 5 % of it the one with the
// shortest period that holds every name which the covered part has as often. count 0: nothing repeats.
// Periods are guessed from the distances of names that are rare and from the middle's shortest periods, and then
// verified, so that the time is linear.
Repetition find_repetition(const std::vector<std::int32_t>& names);

// The record that marks the first iteration at or after record `from`; the number of records when there is none.
std::size_t next_iteration(const trace::Trace& trace, std::size_t from);

// The record of [first, outer) that begins the phase "optimizer"; `outer` when there is none.
std::size_t optimizer_of(const trace::Trace& trace, std::size_t first, std::size_t outer);

// Whether `trace` marks any iteration.
bool has_iterations(const trace::Trace& trace);

// Marks the iterations of `trace`, which marks none, by its kernels' names (all devices and streams together). Each
// starts where, of the records between two kernels, the least memory is alive. What follows the last whole iteration is
// marked as one more. A repetition of less than nine tenths of the kernels marks none: it may be layers of one step.
// Returns what was found, or why nothing was, in one sentence; the header's unknowns say it, too.
std::string mark_iterations(trace::Trace& trace);

}  // namespace uvmsim
