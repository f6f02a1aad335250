#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/user_error.h"
#include "trace/pattern.h"
#include "trace/visitor.h"
#include "workload/edit.h"

namespace uvmsim {
namespace {

class TensorScaler {
 public:
  TensorScaler(trace::Trace& trace, const TensorFactor& factor) : trace_(trace), factor_(factor) {}

  void run() {
    std::string_view layer;
    for (std::size_t i = 0; i < trace_.records.size(); ++i) {
      trace::Record& record = trace_.records[i];
      if (std::holds_alternative<trace::Iteration>(record)) layer = {};
      if (const auto* named = std::get_if<trace::Layer>(&record))
        layer = trace_.strings[static_cast<std::size_t>(named->name)];
      if (auto* alloc = std::get_if<trace::Alloc>(&record)) allocate(*alloc, i, layer);
      if (const auto* free = std::get_if<trace::Free>(&record)) scaled_.erase(free->tensor);
      if (trace::AccessSpan* span = trace::access_span(record)) touch(record, *span);
      if (auto* call = std::get_if<trace::Prefetch>(&record)) limit(call->tensor, call->offset, call->length);
      if (auto* call = std::get_if<trace::Discard>(&record)) limit(call->tensor, call->offset, call->length);
      if (auto* call = std::get_if<trace::Advise>(&record)) limit(call->tensor, call->offset, call->length);
    }
    trace_.accesses = std::move(accesses_);
  }

 private:
  struct Scaled {
    std::int64_t bytes = 0;
    double factor = 1;
  };

  // At least 1 of what is more than 0.
  static std::int64_t scaled(std::int64_t bytes, double factor) {
    if (bytes <= 0) return bytes;
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(bytes) * factor));
  }

  void allocate(trace::Alloc& alloc, std::size_t record, std::string_view layer) {
    scaled_.erase(alloc.tensor);
    const std::vector<std::string>& kinds = trace_.header.kinds;
    const double factor = factor_(record, alloc.kind < kinds.size() ? kinds[alloc.kind] : "", layer);
    if (factor == 1) return;
    alloc.bytes = scaled(alloc.bytes, factor);
    scaled_[alloc.tensor] = {alloc.bytes, factor};
  }

  // The range of a tensor that was scaled, inside it. Returns by how much; 1: it was not.
  double limit(trace::TensorId tensor, std::int64_t& offset, std::int64_t& length) const {
    const auto found = scaled_.find(tensor);
    if (found == scaled_.end()) return 1;
    const auto [bytes, factor] = found->second;
    if (offset > 0) offset = std::min(scaled(offset, factor), bytes - 1);
    if (length > 0) length = std::min(scaled(length, factor), bytes - offset);
    return factor;
  }

  void touch(trace::Record& record, trace::AccessSpan& span) {
    const auto first = static_cast<std::uint32_t>(accesses_.size());
    double most = span.count > 0 ? 0 : 1;  // of its operands' factors
    for (std::uint32_t i = span.first; i < span.first + span.count; ++i) {
      trace::Access access = trace_.accesses[i];
      const double factor = limit(access.tensor, access.offset, access.length);
      most = std::max(most, factor);
      if (factor != 1 && access.options >= 0) access.options = options_of(access, factor);
      accesses_.push_back(access);
    }
    span.first = first;
    if (auto* copy = std::get_if<trace::Copy>(&record)) copy->bytes = scaled(copy->bytes, most);
    if (auto* sum = std::get_if<trace::CollectiveOp>(&record)) sum->bytes = scaled(sum->bytes, most);
  }

  // What is in bytes, scaled; numbers of elements stay.
  std::int32_t options_of(const trace::Access& access, double factor) {
    const trace::PatternFacts* facts = trace::find_pattern(access.pattern);
    if (facts != nullptr && facts->outside != nullptr)
      throw UserError(trace_.header.name, "tensors cannot be scaled whose places a pattern \"" +
                                              trace::pattern_name(access.pattern) + "\" lists");
    const auto [known, fresh] =
        options_.try_emplace({access.options, factor}, static_cast<std::int32_t>(trace_.options.size()));
    if (fresh) {
      trace::PatternOptions options = trace_.options[static_cast<std::size_t>(access.options)];
      for (std::int64_t* bytes :
           {&options.leading_dimension, &options.element_bytes, &options.width, &options.stride, &options.chunk})
        *bytes = scaled(*bytes, factor);
      trace_.options.push_back(std::move(options));
    }
    return known->second;
  }

  trace::Trace& trace_;
  const TensorFactor& factor_;
  std::vector<trace::Access> accesses_;
  std::unordered_map<trace::TensorId, Scaled> scaled_;               // live tensors; never walked
  std::map<std::pair<std::int32_t, double>, std::int32_t> options_;  // scaled ones, by the ones they were and factor
};

}  // namespace

void scale_tensors(trace::Trace& trace, const TensorFactor& factor) { TensorScaler(trace, factor).run(); }

std::int64_t scale_tensors(trace::Trace& trace, const TensorFilter& filter, double factor) {
  std::int64_t count = 0;
  scale_tensors(trace, [&](std::size_t, std::string_view kind, std::string_view layer) {
    const bool taken = filter(kind, layer);
    count += taken;
    return taken ? factor : 1;
  });
  return count;
}

}  // namespace uvmsim
