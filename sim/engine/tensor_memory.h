// Executes the plans of one GPU over explicit memory: tensors move between device memory and pinned host memory on two
// copy streams, as a framework's runtime would do it in the host thread that launches the kernels.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "engine/device_bytes.h"
#include "engine/stream.h"
#include "plan/coordinator.h"
#include "plan/plan.h"

namespace uvmsim {

// Called by the host thread, in issue order; may block it. Tensors are the program's cudaMalloc allocations; memory is
// counted, not placed: fragmentation is not modelled.
class SwapExecutor {
 public:
  // Appends an operation to a stream of the GPU.
  using Push = std::function<void(const Op& op, std::int32_t stream, std::int64_t target)>;

  // `device`: the program's number of the GPU. `plans` must outlive this; those of other GPUs are ignored.
  SwapExecutor(ProcessContext& process, int device, std::span<const Plan> plans, Push push);

  int device() const { return device_; }
  void begin_iteration();
  void begin_phase(const std::string& name);
  void finish();  // nothing more will come
  void allocate(const op::MallocDevice& call, Time issued);
  void free(const op::FreeDevice& call);
  // `op`, a kernel, copy or collective of this GPU with `span` on `stream`, is about to be pushed; has been pushed.
  void before(const Op& op, OperandSpan span, std::int32_t stream, Time issued);
  void after(const Op& op, OperandSpan span, std::int32_t stream, Time issued);

 private:
  enum class State { Resident, Absent, Dropped };
  struct Tensor {
    std::int64_t bytes = 0;
    std::int32_t ordinal = -1;  // in this iteration
    State state = State::Resident;
    bool pinned = false;               // an operand of what is being issued
    bool clean = false;                // a copy out was issued and the contents did not change since
    std::int32_t last_kernel = -1;     // its last use in this iteration
    std::int64_t idle_since = 0;       // order of last uses
    StreamPoint used{}, copied{};      // ends of the last use and of the last copy out
    std::vector<StreamPoint> waits{};  // what its next user waits for
  };
  using Tensors = std::map<VirtualAddress, Tensor>;  // in the order of allocation: addresses ascend

  // An event, with the operations that record it and wait for it.
  struct Signal {
    EventState* event = nullptr;
    Op record, wait;
  };
  std::unique_ptr<Signal> new_signal(const std::string& what, std::int32_t stream, EventState::Kind kind);
  Signal& signal_of(std::int32_t stream);

  // What a plan does, by kernel; index 2 k: before kernel k, 2 k + 1: after it.
  struct Schedule {
    const Plan* plan = nullptr;
    std::vector<std::vector<const Disposition*>> out{}, in{};
    std::vector<std::vector<const Disposition*>> recompute{};  // by the kernel of the next use
    std::set<std::int32_t> layer_ends{};
  };
  static Schedule schedule_of(const Plan& plan);
  std::vector<IterationShape> shapes_of_iterations() const;

  std::vector<Tensor*> operands(OperandSpan span);
  Tensor* tensor_at(VirtualAddress address);
  Tensor* tensor_of(const Disposition& disposition);
  void run_triggers(std::size_t place, Time issued);
  void join_layer();
  void take_turn(std::int32_t stream);
  void leave_forward();
  void reach(Moment moment, std::vector<StreamPoint> points);
  std::vector<StreamPoint> all_launched() const;
  void speculate(const std::vector<Tensor*>& idle, Time issued);
  void recompute(const Disposition& disposition, Time issued);

  // `awaited`: the program waits for it now.
  void move_out(Tensor& tensor, Sync sync, bool release, bool awaited, Time issued);
  void drop(Tensor& tensor);
  // Brings a tensor in unless there is no room; `forced`: it has to come now. `needed_by`: kernel of this GPU,
  // counted from 0 over the whole run.
  bool move_in(Tensor& tensor, Sync sync, bool forced, std::int64_t needed_by, std::vector<StreamPoint> after,
               Time issued);
  void retry_deferred(Time issued);
  // Device bytes for a kernel's stream (`own`) or a copy; makes room when there is none.
  void obtain(std::int64_t bytes, const EventState* own, std::vector<StreamPoint>& waits, Time issued);
  bool reclaim(std::int64_t bytes, Time issued);
  void host_waits(const StreamPoint& point);

  ProcessContext& process_;
  GpuDevice& gpu_;
  const int device_;
  Push push_;
  DeviceBytes bytes_;
  std::map<std::int32_t, std::unique_ptr<Signal>> signals_;  // of kernels, by stream
  std::unique_ptr<Signal> out_signal_, in_signal_;           // of copies
  std::unique_ptr<Signal> turn_signal_;                      // of a coordinator; nullptr: this GPU takes none
  std::unique_ptr<SwapStream> out_, in_;
  std::int32_t next_event_;  // negative: programs' are not
  StreamPoint last_launch_{};

  std::vector<Schedule> schedules_;
  std::vector<IterationShape> shapes_;
  const Schedule* schedule_ = nullptr;  // of this iteration; nullptr: everything on demand
  std::size_t iteration_ = 0;
  bool in_iteration_ = false;
  std::int32_t kernel_ = 0;          // the next one's ordinal
  std::int64_t kernels_before_ = 0;  // in earlier iterations
  enum class Turn { None, Asked, Taken } turn_ = Turn::None;
  bool forward_ = false;             // the phase
  std::vector<const Op*> launched_;  // kernels of this iteration
  std::vector<VirtualAddress> by_ordinal_;
  Tensors tensors_;
  struct Deferred {
    VirtualAddress tensor = 0;
    Sync sync = Sync::Stream;
    std::int64_t needed_by = 0;
  };
  std::vector<Deferred> deferred_;  // swaps in that found no memory
  std::vector<StreamPoint> layer_waits_;
  std::int64_t uses_ = 0;
  // (tensor, last use) of what was reclaimed in this iteration and the one before.
  std::set<std::pair<std::int32_t, std::int32_t>> reclaimed_, reclaimed_before_;
};

}  // namespace uvmsim
