// What PyTorch's ExecutionTraceObserver says of operators: which storages each reads and writes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json_document.h"
#include "importers/import_file.h"
#include "trace/error_list.h"
#include "trace/record.h"

namespace uvmsim {

struct StorageAccess {
  std::int64_t storage = 0, offset = 0, bytes = 0;  // bytes of the storage, from `offset`
  trace::Mode mode = trace::Mode::Read;
  bool fresh = false;  // an output that is no view of an input: the operator made it
  bool on_gpu = false;
};

// By record function id ("rf_id"), the key that Kineto's operators have, too. Looked up, never walked.
using OperatorAccesses = std::unordered_map<std::int64_t, std::vector<StorageAccess>>;

// An operator as it began on a thread, which the observer counts from 1.
struct ObservedOperator {
  std::int64_t function = 0, thread = 0;
  std::string name;
};

struct ExecutionTrace {
  OperatorAccesses accesses;
  std::vector<ObservedOperator> operators;  // by record function id, the order in which they began
};

// The operators of `file`, in either form of the schema (1.0.x, 1.1.x). What is read and what is written follows the
// operator's own schema: `Tensor(a!)` is written, `Tensor(a)` among the results is a view. Operators without one are
// taken to read their inputs and write their outputs.
ExecutionTrace read_execution_trace(const ImportFile& file, trace::ErrorList& errors);

// Appends the tensors in `value`, which may be a list of them, as accesses of this mode.
void collect_tensors(const JsonValue& value, std::vector<StorageAccess>& into, trace::Mode mode);

// Whether argument `index` (`result` false) or result `index` of an operator schema is marked as written or a view.
enum class Alias { None, View, Written };
Alias alias_of(std::string_view schema, std::size_t index, bool result);

}  // namespace uvmsim
