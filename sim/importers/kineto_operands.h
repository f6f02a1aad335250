// Which tensors the kernels of a Kineto trace use: as an ExecutionTraceObserver says, or matched by size and time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "importers/execution_trace.h"
#include "importers/import_builder.h"
#include "importers/kineto_events.h"

namespace uvmsim {

// Which tensors an operator's storages are: they live from the first kernel that names them to the last.
class KinetoStorages {
 public:
  KinetoStorages(ImportBuilder& into, const OperatorAccesses& operators) : into_(into), operators_(operators) {}

  // All operators that have kernels, in the order of these, before the first `operands`.
  void announce(std::int64_t function) {
    const auto found = operators_.find(function);
    if (found == operators_.end()) return;
    for (const StorageAccess& access : found->second) {
      if (!access.on_gpu || access.bytes == 0) continue;
      Life& life = life_of(access, function);
      life.bytes = std::max(life.bytes, access.offset + access.bytes);
      life.last = position_;
    }
    ++position_;
  }
  void rewind() { position_ = 0, current_.clear(); }

  // The operands of the next kernel, which runs on `device`; nullopt when the file has no such operator.
  std::optional<std::vector<trace::Access>> operands(std::int64_t function, std::int64_t device) {
    const auto found = operators_.find(function);
    if (found == operators_.end()) return std::nullopt;
    std::vector<trace::Access> accesses;
    for (const StorageAccess& access : found->second) {
      if (!access.on_gpu || access.bytes == 0) continue;
      Life& life = life_of(access, function);
      if (life.tensor < 0)
        life.tensor = into_.allocate(life.bytes,
                                     {.kind = access.fresh ? TensorKind::Other : TensorKind::Input, .device = device});
      if (const auto made = into_.access(life.tensor, access.mode, access.offset, access.bytes))
        accesses.push_back(*made);
    }
    return accesses;
  }
  // After the kernel whose operands were asked for.
  void release(std::int64_t function) {
    const auto found = operators_.find(function);
    if (found == operators_.end()) return;
    for (const StorageAccess& access : found->second) {
      if (!access.on_gpu || access.bytes == 0) continue;
      Life& life = life_of(access, function);
      if (life.last == position_ && into_.is_live(life.tensor)) into_.free(life.tensor);
    }
    ++position_;
  }

 private:
  struct Life {
    std::int64_t bytes = 0, last = -1;
    trace::TensorId tensor = -1;
  };

  // Older observers key storages by address, so an id may be used again. It is another storage when an operator makes
  // it anew in another size than before.
  Life& life_of(const StorageAccess& access, std::int64_t function) {
    auto [now, added] = current_.try_emplace(access.storage, Current{});
    if (access.fresh && now->second.function != function) {
      if (now->second.made > 0 && now->second.made != access.bytes) ++now->second.generation;
      now->second.made = access.bytes;
      now->second.function = function;
    }
    return lives_[{access.storage, now->second.generation}];
  }

  struct Current {
    std::int64_t generation = 0, made = 0, function = -1;
  };
  ImportBuilder& into_;
  const OperatorAccesses& operators_;
  std::map<std::pair<std::int64_t, std::int64_t>, Life> lives_;
  std::unordered_map<std::int64_t, Current> current_;
  std::int64_t position_ = 0;
};

// Operands by size and time, where nobody recorded them.
class KinetoMatches {
 public:
  KinetoMatches(ImportBuilder& into, const KinetoEvents& events) : into_(into), events_(events) {}

  void allocated(trace::TensorId tensor, const KinetoMemory& event) {
    by_size_[event.bytes].push_back(tensor);
    made_[event.thread].push_back({event.time, tensor});
  }

  std::vector<trace::Access> operands(const KinetoOp& op) {
    std::vector<trace::Access> accesses;
    std::vector<trace::TensorId> outputs;
    const auto made = made_.find(op.thread);
    if (made != made_.end()) {
      for (auto it = made->second.rbegin(); it != made->second.rend() && it->time >= op.start; ++it) {
        if (it->time > op.end || !into_.is_live(it->tensor)) continue;
        outputs.push_back(it->tensor);
        accesses.push_back({.tensor = it->tensor, .mode = trace::Mode::Write});
      }
    }
    std::vector<trace::TensorId> inputs;
    for (std::uint32_t i = op.first_input; i < op.first_input + op.inputs; ++i) {
      const trace::TensorId found = match(events_.input_bytes[i], outputs, inputs);
      if (found < 0) {
        into_.unknown("inputs of kernels: no block of their size is known; left out");
        continue;
      }
      inputs.push_back(found);
      accesses.push_back({.tensor = found, .mode = trace::Mode::Read});
    }
    return accesses;
  }

  // A collective's: what it is given, and what it makes, which is the same block where both are as large.
  std::vector<trace::Access> operands(const KinetoCollective& collective) {
    const trace::TensorId in = collective.in > 0 ? match(collective.in, {}, {}) : -1;
    const bool in_place = collective.out == 0 || collective.out == collective.in;
    const trace::TensorId out = in_place ? -1 : match(collective.out, {}, {in});
    std::vector<trace::Access> accesses;
    if (in >= 0) accesses.push_back({.tensor = in, .mode = in_place ? trace::Mode::ReadWrite : trace::Mode::Read});
    if (out >= 0) accesses.push_back({.tensor = out, .mode = trace::Mode::Write});
    return accesses;
  }

 private:
  static constexpr std::int64_t kBlock = 512;  // PyTorch's allocator rounds sizes to this

  struct Made {
    std::int64_t time = 0;
    trace::TensorId tensor = -1;
  };

  // The block of this size that was used last, which then is the one used last again; -1: none.
  trace::TensorId match(std::int64_t bytes, const std::vector<trace::TensorId>& outputs,
                        const std::vector<trace::TensorId>& inputs) {
    const auto found = by_size_.find((bytes + kBlock - 1) / kBlock * kBlock);
    if (found == by_size_.end()) return -1;
    std::vector<trace::TensorId>& stack = found->second;
    std::erase_if(stack, [&](trace::TensorId tensor) { return !into_.is_live(tensor); });
    for (std::size_t i = stack.size(); i-- > 0;) {
      const trace::TensorId tensor = stack[i];
      if (std::ranges::find(outputs, tensor) != outputs.end() || std::ranges::find(inputs, tensor) != inputs.end())
        continue;
      stack.erase(stack.begin() + static_cast<std::ptrdiff_t>(i));
      stack.push_back(tensor);
      return tensor;
    }
    return -1;
  }

  ImportBuilder& into_;
  const KinetoEvents& events_;
  std::map<std::int64_t, std::vector<trace::TensorId>> by_size_;  // the one used last stands last
  std::unordered_map<std::int64_t, std::vector<Made>> made_;      // by thread, in order
};

}  // namespace uvmsim
