// What the collectives of a trace mean together, for a run whose devices are known.
#pragma once

#include <string>
#include <vector>

#include "trace/record.h"

namespace uvmsim::trace {

// Which of several communicators the member `place` of one with so many `ranks` is in (0: as many as there are), at
// distances of `stride`: of 8 members, 2 ranks at a stride of 4 make {0, 4}, {1, 5}, {2, 6} and {3, 7}.
constexpr std::int64_t group_of(std::int64_t place, std::int64_t ranks, std::int64_t stride) {
  if (ranks == 0) return place % stride;
  return place / (ranks * stride) * stride + place % stride;
}

// What would never end, or has no meaning, when `replicas` processes run `trace` on GPUs of their own (1: one process
// runs it on all its devices): FORMAT.md, "Communicators". One sentence each; empty when all is well. Sends and
// receives that meet in another order than their streams reach them are not seen here: such a run ends in a deadlock.
std::vector<std::string> collective_errors(const Trace& trace, int replicas);

}  // namespace uvmsim::trace
