// What the records of a trace mean together: nothing is used before it exists, or outside its bounds.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/user_error.h"
#include "trace/error_list.h"
#include "trace/pattern.h"
#include "trace/visitor.h"

namespace uvmsim::trace {

// Reports each record that breaks a rule of FORMAT.md's "The rules of a valid trace". A prefix of a valid trace
// is valid. Memory: one entry per tensor and segment of the trace.
class Checker final : public RecordVisitor {
 public:
  // Adds to `errors`; `place(number)` names the record of that RecordContext::number.
  Checker(ErrorList& errors, std::function<std::string(std::int64_t)> place)
      : errors_(errors), place_(std::move(place)) {}

  void on_header(const Header& header) override;
  void on_string(const std::string&) override { ++strings_; }
  void on_record(const Record& record, const RecordContext& context) override;

 private:
  struct Tensor {
    std::int64_t bytes = 0;
    std::int64_t segment = -1;
    bool live = false;
  };
  struct Segment {
    std::int64_t bytes = 0, tensors = 0;
    bool live = false;
  };

  void check(const Alloc& alloc);
  void check(const Free& free);
  void check(const SegmentAlloc& segment);
  void check(const SegmentFree& segment);
  void check(const Kernel& kernel);
  void check(const Copy& copy);
  void check(const Prefetch& prefetch);
  void check(const Discard& discard);
  void check(const Advise& advise);
  void check(const CollectiveOp& collective);
  void check(const EventRecord& event);
  void check(const EventWait& event);
  void check(const Synchronize& synchronize);
  void check(const HostStep& step);
  void check(const Iteration& iteration);
  void check(const Phase& phase);
  void check(const Layer& layer);

  void check_variants(const Kernel& kernel, const RecordContext& context);
  void check_access(const Access& access, const RecordContext& context);
  void check_options(const Access& access, const RecordContext& context);
  void check_range(TensorId tensor, std::int64_t offset, std::int64_t length);
  void check_placement(const Alloc& alloc);
  // The options of an access that `facts` knows, over a range of `bytes`.
  void check_reach(const Access& access, const PatternFacts& facts, const PatternOptions& options, std::int64_t bytes);
  void check_device(std::int64_t device, std::int64_t lowest);
  void check_string(StringIndex index);
  void add_time(std::int64_t ns);
  void add_live(std::int64_t bytes);
  void check_limits(std::int64_t value, std::int64_t low, std::int64_t high, const char* what);

  template <class... Parts>
  void error(const Parts&... parts);

  ErrorList& errors_;
  std::function<std::string(std::int64_t)> place_;
  std::int64_t number_ = 0;  // of the record being checked
  std::int64_t devices_ = 1, kinds_ = 0, strings_ = 0, iteration_ = -1;
  std::int64_t total_ns_ = 0;
  double live_bytes_ = 0;                         // exact as far as it may be
  std::unordered_map<TensorId, Tensor> tensors_;  // looked up, never walked
  std::unordered_map<std::int64_t, Segment> segments_;
  std::set<std::int32_t> events_, threads_;  // recorded; with a step
};

// The errors of `trace`, placed as "record n", n from 0; empty when it is valid. At most ErrorList::kShown.
std::vector<InputError> check_trace(const Trace& trace);

}  // namespace uvmsim::trace
