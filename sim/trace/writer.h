// Writes uvmtrace v1 files, canonically: the same trace gives the same bytes. FORMAT.md describes them.
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "trace/bytes.h"
#include "trace/record.h"
#include "trace/visitor.h"

namespace uvmsim::trace {

// Writes what it is shown to `sink`. A string's line comes right before the first record that names it or a
// later one. Call `finish` once, at the end.
class RecordWriter final : public RecordVisitor {
 public:
  explicit RecordWriter(ByteSink& sink) : sink_(sink) {}

  void on_header(const Header& header) override;
  void on_string(const std::string& text) override { strings_.push_back(text); }
  void on_record(const Record& record, const RecordContext& context) override;
  void finish();

 private:
  void write_strings(std::size_t upto);
  void flush();

  // Append to buffer_.
  void put(std::string_view text) { buffer_ += text; }
  void put(std::int64_t value);
  void begin(std::string_view tag);
  void field(std::int64_t value);
  void fields(const Alloc& alloc);
  void fields(const Free& free);
  void fields(const SegmentAlloc& segment);
  void fields(const SegmentFree& segment);
  void fields(const Kernel& kernel);
  void fields(const Copy& copy);
  void fields(const Prefetch& prefetch);
  void fields(const Discard& discard);
  void fields(const Advise& advise);
  void fields(const CollectiveOp& collective);
  void fields(const EventRecord& event);
  void fields(const EventWait& event);
  void fields(const Synchronize& synchronize);
  void fields(const HostStep& step);
  void fields(const Iteration& iteration);
  void fields(const Phase& phase);
  void fields(const Layer& layer);
  void put_accesses();
  void put_variants(const LaunchVariants& variants);
  void put_access(const Access& access);
  void put_options(Pattern pattern, const PatternOptions& options);
  void put_list(std::string_view key, std::span<const std::int64_t> numbers);
  // One key of a trailing object; nothing when the value is the default.
  void option(std::string_view key, std::int64_t value, std::int64_t standard);
  void option_key(std::string_view key);
  void end_options();

  ByteSink& sink_;
  std::string buffer_;
  std::vector<std::string> strings_;
  std::size_t strings_written_ = 0;
  bool in_options_ = false;
  const RecordContext* context_ = nullptr;  // of the record being written
};

struct WriteOptions {
  int zstd_level = 0;  // 1..19; 0: plain
};

// Writes all of `trace`, which check_trace finds valid; operations as whole numbers. `out` should be binary; failure
// shows in its state.
void write_trace(const Trace& trace, std::ostream& out, const WriteOptions& options = {});

}  // namespace uvmsim::trace
