// The host thread of one process: issues the program's operations in order.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>

#include "engine/host_steps.h"
#include "engine/stream.h"
#include "engine/tensor_memory.h"

namespace uvmsim {

// Asynchronous calls cost host time and go to their stream with the time they were issued; the thread itself
// only waits where CUDA makes it wait: full launch queues, synchronisation, faults of its own.
class HostThread {
 public:
  HostThread(ProcessContext& process, std::string name);

  // The tensors of a device under plans; nullptr: they are under none.
  const TensorMemory* tensor_memory(DeviceOrdinal device) const {
    return memories_.contains(device) ? memories_[device].get() : nullptr;
  }

 private:
  void run();
  void issue(const Op& op);
  void enqueue(const Op& op, GpuIndex gpu, std::int32_t stream, Duration cost);
  void prefetch(const Op& op);
  void bring_to_host();
  std::int64_t peers_of(GpuIndex gpu) const;
  void malloc_device(const op::MallocDevice& call);
  void free_managed(const op::FreeManaged& call);
  void free_device(const op::FreeDevice& call);
  void advise(const op::Advise& call);
  void step(const op::HostStep& step);
  std::int64_t number_of(const op::Collective& collective);
  void synchronize(std::int32_t stream);
  Duration launch_cost() const;  // host time of one asynchronous call
  bool issue_planned(const Op& op);
  bool perform(const Op& op);
  void launch_planned(const Op& op, DeviceOrdinal device, OperandSpan span, std::int32_t stream);
  void settle(std::size_t done);
  TensorMemory& memory(DeviceOrdinal device) { return *memories_[device]; }
  void tell(const Op& op, Time begin);
  void hold(std::int64_t bytes);  // that many more from the driver
  void catch_up();                // the thread is at `time_`: nothing it did before is still to come

  Stream& stream(GpuIndex gpu, std::int32_t id);
  void note_streams();
  GpuIndex gpu_of(std::int32_t stream) const;    // that events of this stream are on
  std::int32_t main_stream(GpuIndex gpu) const;  // that its iterations end on
  GpuIndex machine_gpu(DeviceOrdinal device) const { return process_.gpus[device]; }
  GpuDevice& device(GpuIndex gpu) { return *process_.services.gpus[gpu]; }

  ProcessContext& process_;
  std::string name_;
  std::int64_t kernels_ = 0;  // launched in this iteration
  int iterations_ = 0;        // begun so far
  Time time_{};               // the thread's own clock: it may be ahead of the engine's, never behind
  std::map<std::pair<GpuIndex, std::int32_t>, std::unique_ptr<Stream>> streams_;
  std::unordered_map<const op::Collective*, std::int64_t> needs_;  // kernels_before_need
  std::map<std::int32_t, std::set<GpuIndex>> users_;               // of stream numbers: where work is issued on them
  IndexedVector<DeviceOrdinal, std::unique_ptr<TensorMemory>> memories_;  // when the process is planned
  std::map<VirtualAddress, std::int64_t> device_bytes_;                   // of live cudaMalloc allocations
  std::map<VirtualAddress, std::int64_t> managed_bytes_;
  std::int64_t held_bytes_ = 0;
  HostSteps steps_;                                              // this thread's
  std::map<std::int32_t, std::unique_ptr<HostWorker>> workers_;  // the other threads
  WaitGroup chains_;
};

}  // namespace uvmsim
