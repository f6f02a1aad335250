#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "base/user_error.h"
#include "trace/pattern.h"
#include "trace/visitor.h"
#include "workload/edit.h"

namespace uvmsim {
namespace {

class TensorScaler {
 public:
  TensorScaler(trace::Trace& trace, const TensorFilter& filter, double factor)
      : trace_(trace), filter_(filter), factor_(factor) {}

  std::int64_t run() {
    std::string_view layer;
    for (trace::Record& record : trace_.records) {
      if (std::holds_alternative<trace::Iteration>(record)) layer = {};
      if (const auto* named = std::get_if<trace::Layer>(&record))
        layer = trace_.strings[static_cast<std::size_t>(named->name)];
      if (auto* alloc = std::get_if<trace::Alloc>(&record)) allocate(*alloc, layer);
      if (const auto* free = std::get_if<trace::Free>(&record)) bytes_.erase(free->tensor);
      if (trace::AccessSpan* span = trace::access_span(record)) touch(record, *span);
      if (auto* call = std::get_if<trace::Prefetch>(&record)) limit(call->tensor, call->offset, call->length);
      if (auto* call = std::get_if<trace::Discard>(&record)) limit(call->tensor, call->offset, call->length);
      if (auto* call = std::get_if<trace::Advise>(&record)) limit(call->tensor, call->offset, call->length);
    }
    trace_.accesses = std::move(accesses_);
    return count_;
  }

 private:
  // At least 1 of what is more than 0.
  std::int64_t scaled(std::int64_t bytes) const {
    if (bytes <= 0) return bytes;
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(bytes) * factor_));
  }

  void allocate(trace::Alloc& alloc, std::string_view layer) {
    bytes_.erase(alloc.tensor);
    const std::vector<std::string>& kinds = trace_.header.kinds;
    if (!filter_(alloc.kind < kinds.size() ? kinds[alloc.kind] : "", layer)) return;
    alloc.bytes = scaled(alloc.bytes);
    bytes_[alloc.tensor] = alloc.bytes;
    ++count_;
  }

  // The range of a tensor that was scaled, inside it. Whether it was.
  bool limit(trace::TensorId tensor, std::int64_t& offset, std::int64_t& length) const {
    const auto found = bytes_.find(tensor);
    if (found == bytes_.end()) return false;
    if (offset > 0) offset = std::min(scaled(offset), found->second - 1);
    if (length > 0) length = std::min(scaled(length), found->second - offset);
    return true;
  }

  void touch(trace::Record& record, trace::AccessSpan& span) {
    const auto first = static_cast<std::uint32_t>(accesses_.size());
    bool all = span.count > 0;
    for (std::uint32_t i = span.first; i < span.first + span.count; ++i) {
      trace::Access access = trace_.accesses[i];
      const bool mine = limit(access.tensor, access.offset, access.length);
      all &= mine;
      if (mine && access.options >= 0) access.options = options_of(access);
      accesses_.push_back(access);
    }
    span.first = first;
    if (!all) return;
    if (auto* copy = std::get_if<trace::Copy>(&record)) copy->bytes = scaled(copy->bytes);
    if (auto* sum = std::get_if<trace::CollectiveOp>(&record)) sum->bytes = scaled(sum->bytes);
  }

  // What is in bytes, scaled; numbers of elements stay.
  std::int32_t options_of(const trace::Access& access) {
    const trace::PatternFacts* facts = trace::find_pattern(access.pattern);
    if (facts != nullptr && facts->outside != nullptr)
      throw UserError(trace_.header.name, "tensors cannot be scaled whose places a pattern \"" +
                                              trace::pattern_name(access.pattern) + "\" lists");
    const auto [known, fresh] = options_.try_emplace(access.options, static_cast<std::int32_t>(trace_.options.size()));
    if (fresh) {
      trace::PatternOptions options = trace_.options[static_cast<std::size_t>(access.options)];
      for (std::int64_t* bytes :
           {&options.leading_dimension, &options.element_bytes, &options.width, &options.stride, &options.chunk})
        *bytes = scaled(*bytes);
      trace_.options.push_back(std::move(options));
    }
    return known->second;
  }

  trace::Trace& trace_;
  const TensorFilter& filter_;
  const double factor_;
  std::vector<trace::Access> accesses_;
  std::unordered_map<trace::TensorId, std::int64_t> bytes_;  // of live tensors that were scaled; never walked
  std::map<std::int32_t, std::int32_t> options_;             // scaled ones, by the ones they were
  std::int64_t count_ = 0;
};

}  // namespace

std::int64_t scale_tensors(trace::Trace& trace, const TensorFilter& filter, double factor) {
  return TensorScaler(trace, filter, factor).run();
}

}  // namespace uvmsim
