#include "trace/visitor.h"

#include <type_traits>
#include <variant>

#include "base/check.h"

namespace uvmsim::trace {

const AccessSpan* access_span(const Record& record) {
  return std::visit(
      [](const auto& r) -> const AccessSpan* {
        if constexpr (requires { r.accesses; })
          return &r.accesses;
        else
          return nullptr;
      },
      record);
}

AccessSpan* access_span(Record& record) {
  return const_cast<AccessSpan*>(access_span(static_cast<const Record&>(record)));
}

void visit_trace(const Trace& trace, RecordVisitor& visitor) {
  visitor.on_header(trace.header);
  for (const std::string& text : trace.strings) visitor.on_string(text);
  std::int64_t number = 0;
  for (Record record : trace.records) {
    std::span<const Access> accesses;
    if (AccessSpan* span = access_span(record)) {
      UVMSIM_CHECK(std::uint64_t{span->first} + span->count <= trace.accesses.size(), "a span ends past the accesses");
      accesses = std::span(trace.accesses).subspan(span->first, span->count);
      span->first = 0;
    }
    visitor.on_record(record, {accesses, trace.options, trace.variants, number++});
  }
}

void TraceCollector::on_record(const Record& record, const RecordContext& context) {
  trace_.records.push_back(record);
  if (AccessSpan* span = access_span(trace_.records.back())) {
    span->first = static_cast<std::uint32_t>(trace_.accesses.size());
    trace_.accesses.insert(trace_.accesses.end(), context.accesses.begin(), context.accesses.end());
  }
  const auto take_new = [](auto& own, const auto& all) {
    own.insert(own.end(), all.begin() + static_cast<std::ptrdiff_t>(own.size()), all.end());
  };
  take_new(trace_.options, context.options);
  take_new(trace_.variants, context.variants);
}

}  // namespace uvmsim::trace
