// When the tensors of a trace live and when they are used: what call policies decide by.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "plan/iteration_graph.h"
#include "trace/record.h"

namespace uvmsim {

// Positions are indices into Trace::records.
struct TensorLife {
  trace::Alloc alloc;
  std::size_t allocated = 0;
  std::size_t freed = kNoRecord;
  std::vector<std::size_t> uses;  // records that touch it, ascending, each once

  // The first use at or after `position`; kNoRecord when there is none.
  std::size_t next_use(std::size_t position) const;
  bool lives_at(std::size_t position) const { return allocated < position && position <= freed; }
};

class TensorLives {
 public:
  // `memory`: of tensors that do not say, PlacementOptions::memory.
  TensorLives(const trace::Trace& trace, const std::string& memory);

  // In the order of their allocation.
  const std::vector<TensorLife>& all() const { return lives_; }
  const TensorLife& of(trace::TensorId tensor) const { return lives_[index_.at(tensor)]; }
  // Whether calls on it mean anything.
  bool managed(const TensorLife& life) const;

 private:
  std::vector<TensorLife> lives_;
  std::unordered_map<trace::TensorId, std::size_t> index_;  // looked up, never walked
  bool managed_ = true;
};

// One range of a tensor that a kernel touches, however many accesses it makes to it.
struct KernelOperand {
  trace::TensorId tensor = 0;
  std::int64_t offset = 0, outer = 0;  // bytes
  bool read = false, written = false;
};

// The operands of `kernel` in the order of their first access, one per tensor: the smallest range that holds all its
// accesses.
std::vector<KernelOperand> operands_of(const trace::Trace& trace, const TensorLives& lives,
                                       const trace::Kernel& kernel);

// The streams and events that nothing in `trace` uses start here.
std::int32_t first_free_stream(const trace::Trace& trace);
std::int32_t first_free_event(const trace::Trace& trace);

}  // namespace uvmsim
