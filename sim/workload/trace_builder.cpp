#include "workload/trace_builder.h"

#include "base/user_error.h"
#include "trace/format.h"

namespace uvmsim {

TraceBuilder::TraceBuilder(trace::Header header) {
  trace_.header = std::move(header);
  trace_.header.version = 1;
  trace_.header.kinds = {"param", "wgrad", "grad", "act", "opt", "input", "ws", "other"};
}

trace::TensorId TraceBuilder::allocate(Bytes bytes, TensorKind kind, int space) {
  if (bytes.value < 1 || bytes.value > trace::kMostBytes) refuse("a tensor of its would not have 1..2^48 bytes");
  bytes_.push_back(bytes.value);
  live_bytes_ += bytes.value;
  if (live_bytes_ > trace::kMostLiveBytes) refuse("its tensors would have more than 2^44 bytes at once");
  append(trace::Alloc{.tensor = next_tensor_,
                      .bytes = bytes.value,
                      .kind = static_cast<std::uint8_t>(kind),
                      .space = static_cast<std::int8_t>(space)});
  return next_tensor_++;
}

void TraceBuilder::free(trace::TensorId tensor) {
  const auto index = static_cast<std::size_t>(tensor - 1);
  if (index < bytes_.size()) live_bytes_ -= bytes_[index];  // else its Alloc was appended as it is
  trace_.records.push_back(trace::Free{tensor});            // never refused: destructors free
}

void TraceBuilder::append(trace::Record record) {
  if (trace_.records.size() == kMostRecords) refuse("it would have more than 2^23 records");
  trace_.records.push_back(std::move(record));
}

void TraceBuilder::refuse(const std::string& why) const {
  throw UserError("workload", "too large to simulate: " + why);
}

void TraceBuilder::kernel(std::string_view name, trace::Kernel kernel, std::span<const trace::Access> operands) {
  kernel.name = string(name);
  kernel.accesses = span_of(operands);
  append(kernel);
}

void TraceBuilder::copy(trace::Copy copy, std::initializer_list<trace::Access> operands) {
  copy.accesses = span_of({operands.begin(), operands.size()});
  append(copy);
}

void TraceBuilder::collective(trace::CollectiveOp collective, std::initializer_list<trace::Access> operands) {
  collective.accesses = span_of({operands.begin(), operands.size()});
  append(collective);
}

void TraceBuilder::host_step(std::initializer_list<trace::Access> operands) {
  append(trace::HostStep{.accesses = span_of({operands.begin(), operands.size()})});
}

std::int32_t TraceBuilder::options(trace::PatternOptions options) {
  trace_.options.push_back(std::move(options));
  return static_cast<std::int32_t>(trace_.options.size()) - 1;
}

trace::StringIndex TraceBuilder::string(std::string_view text) {
  const auto found = interned_.find(text);
  if (found != interned_.end()) return found->second;
  const auto index = static_cast<trace::StringIndex>(trace_.strings.size());
  trace_.strings.emplace_back(text);
  interned_.emplace(text, index);
  return index;
}

trace::AccessSpan TraceBuilder::span_of(std::span<const trace::Access> operands) {
  const trace::AccessSpan span{static_cast<std::uint32_t>(trace_.accesses.size()),
                               static_cast<std::uint32_t>(operands.size())};
  trace_.accesses.insert(trace_.accesses.end(), operands.begin(), operands.end());
  return span;
}

}  // namespace uvmsim
