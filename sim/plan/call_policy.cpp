#include "plan/call_policy.h"

#include <algorithm>

namespace uvmsim {

trace::Trace insert_calls(trace::Trace trace, std::vector<InsertedCall> calls) {
  std::ranges::stable_sort(calls, {}, &InsertedCall::at);
  std::vector<trace::Record> records;
  records.reserve(trace.records.size() + calls.size());
  std::size_t copied = 0;
  const auto copy_until = [&](std::size_t outer) {
    for (; copied < outer; ++copied) records.push_back(std::move(trace.records[copied]));
  };
  for (InsertedCall& call : calls) {
    copy_until(call.at);
    records.push_back(std::move(call.call));
  }
  copy_until(trace.records.size());
  trace.records = std::move(records);
  return trace;
}

}  // namespace uvmsim
