#include "plan/tensor_lives.h"

#include <algorithm>

#include "trace/visitor.h"

namespace uvmsim {

std::size_t TensorLife::next_use(std::size_t position) const {
  const auto next = std::ranges::lower_bound(uses, position);
  return next == uses.end() ? kNoRecord : *next;
}

TensorLives::TensorLives(const trace::Trace& trace, const std::string& memory) : managed_(memory == "managed") {
  for (std::size_t i = 0; i < trace.records.size(); ++i) {
    const trace::Record& record = trace.records[i];
    if (const auto* alloc = std::get_if<trace::Alloc>(&record)) {
      index_[alloc->tensor] = lives_.size();
      lives_.push_back({.alloc = *alloc, .allocated = i, .freed = kNoRecord, .uses = {}});
    } else if (const auto* free = std::get_if<trace::Free>(&record)) {
      lives_[index_.at(free->tensor)].freed = i;
    } else if (const trace::AccessSpan* span = trace::access_span(record)) {
      for (std::uint32_t a = span->first; a < span->first + span->count; ++a) {
        std::vector<std::size_t>& uses = lives_[index_.at(trace.accesses[a].tensor)].uses;
        if (uses.empty() || uses.back() != i) uses.push_back(i);
      }
    }
  }
}

bool TensorLives::managed(const TensorLife& life) const {
  return life.alloc.space < 0 ? managed_ : static_cast<trace::Space>(life.alloc.space) == trace::Space::Managed;
}

std::vector<KernelOperand> operands_of(const trace::Trace& trace, const TensorLives& lives,
                                       const trace::Kernel& kernel) {
  std::vector<KernelOperand> operands;
  for (std::uint32_t a = kernel.accesses.first; a < kernel.accesses.first + kernel.accesses.count; ++a) {
    const trace::Access& access = trace.accesses[a];
    const TensorLife& life = lives.of(access.tensor);
    if (!lives.managed(life)) continue;
    const std::int64_t outer = access.length < 0 ? life.alloc.bytes : access.offset + access.length;
    auto operand = std::ranges::find(operands, access.tensor, &KernelOperand::tensor);
    if (operand == operands.end())
      operand = operands.insert(operands.end(), {access.tensor, access.offset, outer, false, false});
    operand->offset = std::min(operand->offset, access.offset);
    operand->outer = std::max(operand->outer, outer);
    operand->read |= access.mode != trace::Mode::Write;
    operand->written |= access.mode != trace::Mode::Read;
  }
  return operands;
}

std::int32_t first_free_stream(const trace::Trace& trace) {
  std::int32_t last = 0;
  for (const trace::Record& record : trace.records)
    std::visit(
        [&](const auto& r) {
          if constexpr (requires { r.stream; }) last = std::max(last, r.stream);
        },
        record);
  return last + 1;
}

std::int32_t first_free_event(const trace::Trace& trace) {
  std::int32_t last = -1;
  for (const trace::Record& record : trace.records)
    if (const auto* event = std::get_if<trace::EventRecord>(&record)) last = std::max(last, event->event);
  return last + 1;
}

}  // namespace uvmsim
