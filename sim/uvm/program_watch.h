// What one process's program does on one GPU, for policies that know more than the driver: which 2 MiB frames each
// operation touches and when, what comes next, and which tensors live where.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/indexed_vector.h"
#include "base/page_mask.h"
#include "memory/program.h"
#include "uvm/eviction/eviction_policy.h"

namespace uvmsim {

// One frame that an operation touches, and during which part of it, in 65536ths.
struct FrameTouch {
  FrameIndex frame{};
  std::uint16_t first = 0, last = 0xffff;
};

// The managed frames of these operands, each once, ascending by frame. A sequential operand is swept at constant
// speed; all others are touched from the first moment to the last.
void touched_frames(const Program& program, OperandSpan operands, std::vector<FrameTouch>& out);

class ProgramWatch {
 public:
  // `device`: which of the program's devices the GPU is. `program` must outlive this object.
  ProgramWatch(const Program& program, DeviceOrdinal device, EvictionNeeds needs);

  // Operation `op` of the program starts on the GPU: tensors freed or allocated before it are, too. Then, and when it
  // gets on, `visit(FrameIndex)` is called for each frame it has reached.
  template <class Visit>
  void begin(std::uint32_t op, Visit&& visit) {
    start(op);
    emit(visit);
  }
  // The operation faulted on `frame`: it has got there.
  template <class Visit>
  void reach(FrameIndex frame, Visit&& visit) {
    if (get_to(frame)) emit(visit);
  }
  template <class Visit>
  void end(Visit&& visit) {
    progress_ = 0xffff;
    emit(visit);
    current_.clear();
    order_.clear();
  }

  // Whether the running operation may still touch the frame.
  bool in_use(FrameIndex frame) const;
  // When the program next touches the frame, from here on; not counting the touch that is under way.
  ProgramPosition next_use(FrameIndex frame) const;
  // Pages of the frame that are in no tensor now.
  PageMask inactive(FrameIndex frame) const;
  // Whether tensors overlap these pages of the frame and all are of one of `kinds`.
  bool holds_only(FrameIndex frame, PageRegion pages, const std::vector<std::string>& kinds) const;
  // Names the running kernel: the same for the same code, grid and operands. 0: no kernel runs.
  std::uint64_t execution_id(std::uint32_t op) const;

 private:
  struct Use {
    std::uint32_t op;
    std::uint16_t first;
  };
  struct Tensor {
    VirtualAddress end;
    std::int16_t kind;
  };
  void start(std::uint32_t op);
  bool get_to(FrameIndex frame);
  const FrameTouch* find(FrameIndex frame) const;
  void note_tensors(std::uint32_t op);
  void learn_future(DeviceOrdinal device);
  template <class Visit>
  void emit(Visit&& visit) {
    while (emitted_ < order_.size() && order_[emitted_].first <= progress_) visit(order_[emitted_++].frame);
  }

  const Program& program_;
  EvictionNeeds needs_;
  std::uint32_t op_ = 0;
  std::uint16_t progress_ = 0;
  std::vector<FrameTouch> current_, order_;           // of the running operation: by frame, by first touch
  std::size_t emitted_ = 0;                           // of `order_`
  IndexedVector<FrameIndex, std::vector<Use>> uses_;  // ascending
  std::map<VirtualAddress, Tensor> tensors_;
  std::size_t events_ = 0;  // of Program::tensor_events, that are past
};

}  // namespace uvmsim
