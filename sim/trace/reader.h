// Reads uvmtrace v1 files. FORMAT.md describes the bytes.
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <string>

#include "trace/record.h"
#include "trace/visitor.h"

namespace uvmsim::trace {

// What a file held besides what the visitor saw.
struct ReadSummary {
  std::int64_t lines = 0;
  std::int64_t records = 0;                                        // less header, strings and ignored ones
  std::map<std::string, std::int64_t> ignored_tags, ignored_keys;  // as in Trace
};

// Shows the trace in `in`, plain or zstd, to `visitor` as it is read. Memory: the longest line, the access options
// and one entry per tensor; not the records.
//
// Throws UserError with every fault (the first twenty, and the number of the rest) placed as "name:line", at the
// end of the file: until then the visitor has seen the records that could be read. Once a line was not understood,
// only lines are still checked, not what they mean together: that would blame later lines for the first fault.
// A file that does not start with a header of version 1 is not read further.
ReadSummary read_records(std::istream& in, const std::string& name, RecordVisitor& visitor);
// The same of a file. Throws UserError as above, or when it cannot be opened.
ReadSummary read_records(const std::string& path, RecordVisitor& visitor);

// The whole trace. Throws UserError as above.
Trace read_trace(std::istream& in, const std::string& name);
Trace read_trace(const std::string& path);

}  // namespace uvmsim::trace
