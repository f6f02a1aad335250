#include "trace/info.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <variant>

#include "trace/pattern.h"

namespace uvmsim::trace {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// For values of 0 or more.
void add_to(std::int64_t& sum, std::int64_t value) {
  if (__builtin_add_overflow(sum, value, &sum)) sum = kMost;
}
// What stopped at kMost is not known exactly any more.
void subtract_from(std::int64_t& sum, std::int64_t value) { sum = std::max<std::int64_t>(0, sum - value); }
std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kMost : product;
}

}  // namespace

std::int64_t TraceInfo::record_count() const {
  return std::accumulate(records.begin(), records.end(), std::int64_t{0});
}

void TraceSurvey::on_header(const Header& header) {
  info_.header = header;
  for (const std::string& name : header.kinds) info_.kinds.push_back({.name = name});
}

IterationInfo& TraceSurvey::iteration() {
  if (info_.iterations.empty()) info_.iterations.push_back({.peak_live_bytes = live_bytes_});
  return info_.iterations.back();
}

void TraceSurvey::on_record(const Record& record, const RecordContext& context) {
  ++info_.records[record.index()];
  if (const auto* start = std::get_if<Iteration>(&record))
    info_.iterations.push_back({.index = start->index, .peak_live_bytes = live_bytes_});
  else if (const auto* alloc = std::get_if<Alloc>(&record))
    add(*alloc);
  else if (const auto* free = std::get_if<Free>(&record))
    add(*free);
  else if (const auto* kernel = std::get_if<Kernel>(&record))
    add(*kernel, context);
  else
    iteration();
}

void TraceSurvey::add(const Alloc& alloc) {
  const std::size_t kind = alloc.kind;
  while (info_.kinds.size() <= kind) info_.kinds.push_back({.name = "kind " + std::to_string(info_.kinds.size())});
  live_by_kind_.resize(info_.kinds.size());

  ++info_.tensors;
  ++info_.kinds[kind].tensors;
  add_to(info_.kinds[kind].allocated_bytes, alloc.bytes);
  live_.insert_or_assign(alloc.tensor, Tensor{alloc.bytes, alloc.kind});
  add_to(live_by_kind_[kind], alloc.bytes);
  add_to(live_bytes_, alloc.bytes);

  iteration().peak_live_bytes = std::max(iteration().peak_live_bytes, live_bytes_);
  if (live_bytes_ <= info_.peak_live_bytes) return;
  info_.peak_live_bytes = live_bytes_;
  for (std::size_t i = 0; i < live_by_kind_.size(); ++i) info_.kinds[i].peak_bytes = live_by_kind_[i];
}

void TraceSurvey::add(const Free& free) {
  iteration();
  const auto found = live_.find(free.tensor);
  if (found == live_.end()) return;
  subtract_from(live_bytes_, found->second.bytes);
  subtract_from(live_by_kind_[found->second.kind], found->second.bytes);
  live_.erase(found);
}

void TraceSurvey::add(const Kernel& kernel, const RecordContext& context) {
  IterationInfo& now = iteration();
  ++now.kernels;
  add_to(now.in_core_ns, kernel.duration_ns);
  add_to(info_.in_core_ns, kernel.duration_ns);
  info_.flops += kernel.flops;
  for (const Access& access : context.accesses) {
    add_to(now.touched_bytes, times(length_of(access), access.passes));
    ++shapes_[shape_of(access, context)];
    note_unused_options(access, context);
  }
}

void TraceSurvey::note_unused_options(const Access& access, const RecordContext& context) {
  if (access.options < 0) return;
  const PatternOptions& options = context.options[static_cast<std::size_t>(access.options)];
  for (const std::string_view name : unused_options(access.pattern, options))
    ++info_.unused_options[pattern_name(access.pattern) + "." + std::string(name)];
}

TraceSurvey::Shape TraceSurvey::shape_of(const Access& access, const RecordContext& context) {
  if (access.options < 0) return {.pattern = access.pattern};
  const PatternOptions& o = context.options[static_cast<std::size_t>(access.options)];
  return {access.pattern, o.chunk > 0, o.dependent, o.unroll, o.block_x, o.block_y};
}

std::string TraceSurvey::name_of(const Shape& shape) {
  std::string name = pattern_name(shape.pattern);
  if (shape.chunks) name += " in chunks";
  if (shape.block_x > 0) name += " by CTAs of " + std::to_string(shape.block_x) + " x " + std::to_string(shape.block_y);
  if (shape.dependent) name += " after the others";
  if (shape.unroll > 1) name += " unrolled " + std::to_string(shape.unroll) + " times";
  return name;
}

std::int64_t TraceSurvey::length_of(const Access& access) const {
  if (access.length >= 0) return access.length;
  const auto found = live_.find(access.tensor);
  return found == live_.end() ? 0 : std::max<std::int64_t>(0, found->second.bytes - access.offset);
}

TraceInfo TraceSurvey::take() {
  info_.end_live_bytes = live_bytes_;
  for (const auto& [shape, count] : shapes_) info_.accesses[name_of(shape)] = count;
  return std::move(info_);
}

TraceInfo describe_trace(const Trace& trace) {
  TraceSurvey survey;
  visit_trace(trace, survey);
  TraceInfo info = survey.take();
  info.ignored_tags = trace.ignored_tags;
  info.ignored_keys = trace.ignored_keys;
  return info;
}

}  // namespace uvmsim::trace
