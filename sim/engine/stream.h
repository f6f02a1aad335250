// A CUDA stream: operations in order, one at a time.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>

#include "engine/access_counting.h"
#include "engine/action_log.h"
#include "engine/bottom_half.h"
#include "engine/collective.h"
#include "engine/gpu_device.h"
#include "engine/point_to_point.h"
#include "memory/allocator.h"
#include "uvm/gate/prefetch_gate.h"

namespace uvmsim {

class Coordination;

// What the streams and the host thread of one process share.
struct ProcessContext {
  const Program& program;
  int va_space = 0;
  IndexedVector<DeviceOrdinal, GpuIndex> gpus;  // which each device of the program is
  Services& services;
  IndexedVector<GpuIndex, std::unique_ptr<BottomHalf>>& bottom_halves;
  IndexedVector<GpuIndex, std::unique_ptr<WaitList>>& gpu_queues;  // one kernel at a time per GPU
  IndexedVector<GpuIndex, bool>& gpu_busy;
  CollectiveRendezvous& collectives;
  PointToPoint& point_to_point;
  Duration stagger{};      // after the first process: RunOptions::process_stagger
  int warmup = 0;          // RunOptions::warmup
  bool from_host = false;  // RunOptions::from_host
  std::function<void(GpuIndex gpu, std::int64_t iteration)> iteration_begins;
  std::map<std::int32_t, std::unique_ptr<EventState>> events;
  ActionLog actions;                             // of the plans that the program was lowered under
  std::unique_ptr<PrefetchGate> gate = nullptr;  // nullptr: every prefetch is made
  bool planned = false;                          // Process::planned
  const AllocatorFactory* allocator = nullptr;   // Process::allocator
  bool enables_peers = false;                    // Process::enables_peers
  Coordination* coordination = nullptr;          // of the plans' copies; nullptr: there is none
};

class Stream {
 public:
  // `gpu`: index in the machine. `name` for reports.
  Stream(ProcessContext& process, GpuIndex gpu, std::string name);

  // Appends an operation that the host issued at `issued`. Blocks the calling host thread while the launch
  // queue is full. `target`: of an EventWait, the record it waits for; of a collective, its number; of a kernel or
  // prefetch, the kernels launched before it in the iteration.
  void push(const Op& op, Time issued, std::int64_t target = 0);
  // No more operations will come.
  void close();
  // Blocks the caller until everything pushed is done.
  void synchronize();
  // Blocks the caller until the CPU work of the prefetch pushed last is done; its copies may still run.
  void wait_for_call();
  bool drained() const { return queue_.empty() && !busy_; }
  // It had collectives with a priority, which a thread for communication works on, not the GPU: synchronising with the
  // device does not wait for it.
  bool has_own_thread() const { return own_thread_; }

 private:
  struct Entry {
    const Op* op = nullptr;
    Time issued{};
    std::int64_t target = 0;
    bool handed_over = false;  // issued while the stream was busy
  };
  void run();
  void execute(const Entry& entry);
  void execute(const op::Kernel& kernel);
  void execute(const op::Copy& copy);
  void copy_to_peer(GpuIndex peer, Bytes size);
  void execute(const op::Prefetch& prefetch, std::int64_t kernel, bool handed_over);
  void execute(const op::Discard& discard);
  void execute(const op::Collective& collective, std::int64_t number);
  void exchange(const op::Collective& collective, std::int64_t number);
  bool is_followed(const op::Collective& collective, std::int64_t number) const;
  static bool ends_step(const op::Collective& collective);
  // Tells the driver's policies, when they want to know, that the operation in `executing_` starts and is over.
  void begin_operation();
  void end_operation();
  void run_kernel(Duration in_core, const KernelProgram& program, AccessCounting& counting);
  void note_contents(OperandSpan span);
  RemoteAccess remote_access(const KernelProgram& program) const;
  RemoteLoad start_remote(const RemoteAccess& access, const KernelProgram& program);
  void finish_remote(const RemoteAccess& at_launch, const RemoteLoad& load, const KernelProgram& program, Time start);
  void flow(const RemoteLoad& load);
  void fault_in(const Operand& operand);
  std::span<const Operand> operands(OperandSpan span) const;
  std::string_view name_of(const op::Kernel& kernel) const;
  void tell_started(Observer& observer, const op::Kernel& kernel);
  void tell_done(Observer& observer, const Op& op, Time begin) const;

  ProcessContext& process_;
  GpuDevice& gpu_;
  int id_;  // over all GPUs
  Ring<Entry> queue_;
  const Op* executing_ = nullptr;
  bool busy_ = false, closed_ = false;
  WaitList work_, space_, idle_, called_;
  bool own_thread_ = false;
  bool calling_ = false;              // a prefetch is queued whose CPU work is not done
  WaitGroup chains_, copies_;         // copies_: to the host, by cudaMemPrefetchAsync
  WaitGroup remote_;                  // what the kernel's accesses to remote pages move
  std::vector<TensorRange> touched_;  // by the current kernel, for observers
};

}  // namespace uvmsim
