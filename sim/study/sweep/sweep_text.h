// The points of a sweep folder as text: CSV, a table, JSON.
#pragma once

#include <ostream>

#include "study/sweep/store.h"

namespace uvmsim {

// sweep.csv (sim/study/SWEEP.md): a header, then a row for each point of each sweep in the folder.
void write_csv(const SweepStore& store, std::ostream& out);

// A table for each sweep: a point's values with its iteration time, slowdown and throughput, and why there are none.
void write_table(const SweepStore& store, std::ostream& out);

// {"sweeps": [{"experiment", "axes", "settings", "points": [...]}]}; a point has what `points` and `results` hold, with
// the report's summary in place of the whole.
void write_json(const SweepStore& store, std::ostream& out);

}  // namespace uvmsim
