// What is in a trace, in numbers: what `uvmsim trace info` prints.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/format.h"
#include "trace/reader.h"
#include "trace/visitor.h"

namespace uvmsim::trace {

// Sums stop at 2^63 - 1 instead of wrapping.
struct KindInfo {
  std::string name;                  // from the header; "kind n" without one there
  std::int64_t tensors = 0;          // allocated, over the whole trace
  std::int64_t allocated_bytes = 0;  // over the whole trace
  std::int64_t peak_bytes = 0;       // alive when the trace's live bytes first peak
};

// The records from one Iteration record to the next. What stands before the first has index -1: set-up.
struct IterationInfo {
  std::int64_t index = -1;
  std::int64_t kernels = 0;
  std::int64_t in_core_ns = 0;     // sum of kernel durations, streams and devices alike
  std::int64_t touched_bytes = 0;  // of the kernels' operands, times their passes; once for a read and write
  std::int64_t peak_live_bytes = 0;
};

struct TraceInfo {
  Header header;
  std::array<std::int64_t, kRecordTags.size()> records{};  // by kRecordTags
  std::int64_t strings = 0;
  std::int64_t tensors = 0;
  std::int64_t peak_live_bytes = 0;  // allocated by the framework and not freed; all devices and spaces
  std::int64_t end_live_bytes = 0;   // never freed
  std::int64_t in_core_ns = 0;       // sum of kernel durations
  double flops = 0;
  std::vector<KindInfo> kinds;            // by Alloc::kind; only those that occur or are named
  std::vector<IterationInfo> iterations;  // set-up first, if it has any record
  // Of kernels, by shape: the pattern's name and what the options make of it, "stencil by CTAs of 32 x 8".
  std::map<std::string, std::int64_t> accesses;
  // Options of kernels' accesses that their pattern does not take: "rows.unroll".
  std::map<std::string, std::int64_t> unused_options;
  std::map<std::string, std::int64_t> ignored_tags, ignored_keys;

  std::int64_t record_count() const;
};

// Sums up what it is shown; a trace need not fit in memory. Memory: one entry per live tensor and per iteration.
class TraceSurvey final : public RecordVisitor {
 public:
  void on_header(const Header& header) override;
  void on_string(const std::string&) override { ++info_.strings; }
  void on_record(const Record& record, const RecordContext& context) override;

  // Call once, at the end.
  TraceInfo take();

 private:
  struct Tensor {
    std::int64_t bytes = 0;
    std::uint8_t kind = 0;
  };

  IterationInfo& iteration();
  void add(const Alloc& alloc);
  void add(const Free& free);
  void add(const Kernel& kernel, const RecordContext& context);
  std::int64_t length_of(const Access& access) const;

  // What the name of a shape says.
  struct Shape {
    Pattern pattern = Pattern::Sequential;
    bool chunks = false, dependent = false;
    std::int32_t unroll = 1;
    std::int32_t block_x = 0, block_y = 0;
    friend auto operator<=>(const Shape&, const Shape&) = default;
  };
  void note_unused_options(const Access& access, const RecordContext& context);
  static Shape shape_of(const Access& access, const RecordContext& context);
  static std::string name_of(const Shape& shape);

  TraceInfo info_;
  std::map<Shape, std::int64_t> shapes_;
  std::unordered_map<TensorId, Tensor> live_;  // looked up, never walked
  std::vector<std::int64_t> live_by_kind_;
  std::int64_t live_bytes_ = 0;
};

// Of a valid trace. Pure.
TraceInfo describe_trace(const Trace& trace);

// "rows.unroll (3), tile.dep (1)".
std::string with_counts(const std::map<std::string, std::int64_t>& names);

// As text for people, lines of at most 110 columns where names allow, and as one JSON object with the
// members of TraceInfo as keys.
std::string to_text(const TraceInfo& info);
std::string to_json(const TraceInfo& info);

}  // namespace uvmsim::trace
