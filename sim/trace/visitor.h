// Whatever goes through the records of a trace, one by one, from a file or from memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trace/record.h"

namespace uvmsim::trace {

// What a record points to. The record's own AccessSpan counts into `accesses`, so its `first` is 0;
// Access::options counts into `options`, Kernel::variants into `variants`; both only grow while a trace is walked.
struct RecordContext {
  std::span<const Access> accesses;
  const std::vector<PatternOptions>& options;
  const std::vector<LaunchVariants>& variants;
  std::int64_t number = 0;  // the line of a file, or the index into Trace::records
};

// Called in the order of the file: the header once and first, a string before the first record that names it.
class RecordVisitor {
 public:
  virtual ~RecordVisitor() = default;
  virtual void on_header(const Header& header) = 0;
  virtual void on_string(const std::string& text) = 0;  // the next index
  virtual void on_record(const Record& record, const RecordContext& context) = 0;
};

// The accesses of a record; nullptr for the kinds that have none.
const AccessSpan* access_span(const Record& record);
AccessSpan* access_span(Record& record);

// Shows all of `trace` to `visitor`: header, strings, records.
void visit_trace(const Trace& trace, RecordVisitor& visitor);

// Collects the Trace that it is shown.
class TraceCollector final : public RecordVisitor {
 public:
  void on_header(const Header& header) override { trace_.header = header; }
  void on_string(const std::string& text) override { trace_.strings.push_back(text); }
  void on_record(const Record& record, const RecordContext& context) override;

  // Call once, at the end.
  Trace take() { return std::move(trace_); }

 private:
  Trace trace_;
};

}  // namespace uvmsim::trace
