#include "workload/cut.h"

#include <map>
#include <set>
#include <string>

#include "base/user_error.h"
#include "trace/visitor.h"

namespace uvmsim {
namespace {

std::vector<std::size_t> starts_of(const trace::Trace& trace) {
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < trace.records.size(); ++i)
    if (std::holds_alternative<trace::Iteration>(trace.records[i])) starts.push_back(i);
  return starts;
}

// What of the records before the cut still holds: allocations that live, and advice on them.
std::vector<trace::Record> set_up(const trace::Trace& trace, std::size_t upto) {
  std::set<trace::TensorId> tensors;
  std::set<std::int64_t> segments;
  for (std::size_t i = 0; i < upto; ++i) {
    const trace::Record& record = trace.records[i];
    if (const auto* a = std::get_if<trace::Alloc>(&record)) tensors.insert(a->tensor);
    if (const auto* f = std::get_if<trace::Free>(&record)) tensors.erase(f->tensor);
    if (const auto* a = std::get_if<trace::SegmentAlloc>(&record)) segments.insert(a->segment);
    if (const auto* f = std::get_if<trace::SegmentFree>(&record)) segments.erase(f->segment);
  }
  std::vector<trace::Record> kept;
  for (std::size_t i = 0; i < upto; ++i) {
    const trace::Record& record = trace.records[i];
    const auto* alloc = std::get_if<trace::Alloc>(&record);
    const auto* segment = std::get_if<trace::SegmentAlloc>(&record);
    const auto* advise = std::get_if<trace::Advise>(&record);
    if ((alloc != nullptr && tensors.contains(alloc->tensor)) ||
        (segment != nullptr && segments.contains(segment->segment)) ||
        (advise != nullptr && tensors.contains(advise->tensor)))
      kept.push_back(record);
  }
  return kept;
}

}  // namespace

trace::Trace cut_iterations(const trace::Trace& trace, std::int64_t first, std::int64_t end) {
  const std::vector<std::size_t> starts = starts_of(trace);
  const auto count = static_cast<std::int64_t>(starts.size());
  if (first < 0 || end <= first || end > count)
    throw UserError(trace.header.name, "cannot cut the iterations " + std::to_string(first) + ":" +
                                           std::to_string(end) + ": the trace has " + std::to_string(count));
  trace::Trace part = trace;
  const std::size_t from = starts[static_cast<std::size_t>(first)];
  const std::size_t to = end == count ? trace.records.size() : starts[static_cast<std::size_t>(end)];
  part.records = set_up(trace, from);
  const std::size_t held = part.records.size();
  std::set<std::int32_t> recorded;
  for (std::size_t i = from; i < to; ++i) {
    const trace::Record& record = trace.records[i];
    if (const auto* event = std::get_if<trace::EventRecord>(&record)) recorded.insert(event->event);
    const auto* wait = std::get_if<trace::EventWait>(&record);
    if (wait == nullptr || recorded.contains(wait->event)) part.records.push_back(record);
  }
  std::string& provenance = part.header.provenance;
  provenance += (provenance.empty() ? "" : "; ") + ("iterations " + std::to_string(first) + ":" + std::to_string(end)) +
                " of " + std::to_string(count) + ", with " + std::to_string(held) + " records of what was alive before";
  return part;
}

}  // namespace uvmsim
