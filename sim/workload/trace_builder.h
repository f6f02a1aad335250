// Writes the records of a generated trace, one call per record, in host issue order.
#pragma once

#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "trace/record.h"

namespace uvmsim {

// What an allocation holds. The names in Header::kinds stand in this order.
enum class TensorKind : std::uint8_t {
  Param,           // weights and running statistics
  WeightGradient,  // gradient of a parameter
  Gradient,        // gradient of an activation
  Activation,
  Optimizer,  // optimizer state
  Input,
  Workspace,
  Other
};

// One access to the whole of `tensor`; other ranges by setting Access::offset and Access::length.
inline trace::Access reads(trace::TensorId tensor, trace::Pattern pattern = trace::Pattern::Sequential,
                           std::int32_t options = -1) {
  return {.tensor = tensor, .mode = trace::Mode::Read, .pattern = pattern, .options = options};
}
inline trace::Access writes(trace::TensorId tensor, trace::Pattern pattern = trace::Pattern::Sequential,
                            std::int32_t options = -1) {
  return {.tensor = tensor, .mode = trace::Mode::Write, .pattern = pattern, .options = options};
}
inline trace::Access updates(trace::TensorId tensor, trace::Pattern pattern = trace::Pattern::Sequential,
                             std::int32_t options = -1) {
  return {.tensor = tensor, .mode = trace::Mode::ReadWrite, .pattern = pattern, .options = options};
}

// `access` restricted to `length` bytes at `offset`.
inline trace::Access at(trace::Access access, std::int64_t offset, std::int64_t length) {
  access.offset = offset;
  access.length = length;
  return access;
}

// Throws UserError where the workload's parameters ask for more than can be simulated: tensors of more than 2^48 bytes,
// or of more than 2^44 at once, which is all that a simulated process can address, or more than kMostRecords records.
class TraceBuilder {
 public:
  static constexpr std::size_t kMostRecords = std::size_t{1} << 23;

  // Fills in `version` and `kinds`; the caller says the rest.
  explicit TraceBuilder(trace::Header header);

  // A new tensor; ids count from 1.
  trace::TensorId allocate(Bytes bytes, TensorKind kind, int space = -1);
  void free(trace::TensorId tensor);

  // Appends `kernel` under `name` with these operands, in the order in which the kernel issues them.
  void kernel(std::string_view name, trace::Kernel kernel, std::span<const trace::Access> operands);
  void kernel(std::string_view name, trace::Kernel kernel, std::initializer_list<trace::Access> operands) {
    this->kernel(name, kernel, std::span(operands.begin(), operands.size()));
  }
  void copy(trace::Copy copy, std::initializer_list<trace::Access> operands);
  void collective(trace::CollectiveOp collective, std::initializer_list<trace::Access> operands);
  // One host thread touches these operands, one after the other, each from its start to its end.
  void host_step(std::initializer_list<trace::Access> operands);

  void iteration(int index) { append(trace::Iteration{index}); }
  void phase(std::string_view name) { append(trace::Phase{string(name)}); }
  void layer(trace::StringIndex name) { append(trace::Layer{name}); }
  void synchronize() { append(trace::Synchronize{}); }
  void append(trace::Record record);

  // The index of `options`, for Access::options.
  std::int32_t options(trace::PatternOptions options);

  // The index of `text`, for the names in records.
  trace::StringIndex string(std::string_view text);

  // Stores `operands` for the AccessSpan of a record that is appended as a whole.
  trace::AccessSpan span_of(std::span<const trace::Access> operands);

  trace::Header& header() { return trace_.header; }
  trace::Trace take() { return std::move(trace_); }

 private:
  [[noreturn]] void refuse(const std::string& why) const;

  trace::Trace trace_;
  std::vector<std::int64_t> bytes_;  // of each tensor
  std::int64_t live_bytes_ = 0;
  std::map<std::string, trace::StringIndex, std::less<>> interned_;
  trace::TensorId next_tensor_ = 1;
};

}  // namespace uvmsim
