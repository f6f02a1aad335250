// One GPU in time: its fault hardware, page tables, copy engines, counters.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/activity_clock.h"
#include "engine/copy_engine.h"
#include "engine/fabric.h"
#include "engine/history.h"
#include "engine/host_cores.h"
#include "engine/in_flight.h"
#include "engine/node_memory.h"
#include "engine/wait.h"
#include "gpu/page_table.h"
#include "gpu/remembering_fault_unit.h"
#include "gpu/walk_memory.h"
#include "machine/machine.h"
#include "memory/program.h"
#include "metrics/result.h"
#include "observe/observer.h"
#include "uvm/driver.h"

namespace uvmsim {

// What all parts of a simulation share.
struct Services {
  const Machine& machine;
  Fabric& fabric;
  UvmDriver& driver;
  History& history;
  IndexedVector<GpuIndex, std::unique_ptr<GpuDevice>>& gpus;
  // Ends the simulation with an outcome that is not Completed; does not return.
  std::function<void(Outcome, std::string)> stop;
  Observer* observer = nullptr;  // nullptr: nobody watches
  // After each kernel and fault batch; empty: nobody wants to know how far it is.
  std::function<void()> went_on = {};
  InFlight in_flight = {};
  NodeMemory node_memory = {};                    // what tensors under plans hold of the machine's memory nodes
  std::map<GpuIndex, HostCores> host_cores = {};  // of each server, by server_of its GPUs
  int streams = 0;                                // opened so far
  std::int64_t fault_batches = 0;                 // of all GPUs so far
  // The resource manager's lock of all GPUs: cudaMalloc and cudaFree of all processes take it in turn. Source:
  // open-gpu-kernel-modules 595.45.04, rmapi.c: g_RmApiLock, which allocations and frees take for writing.
  Slots allocation_lock = Slots(1);
  WalkMemory walks = WalkMemory();  // of kernels on all GPUs
};

class GpuDevice {
 public:
  GpuDevice(Services& services, GpuIndex index);

  GpuIndex index() const { return index_; }
  const GpuSpec& spec() const { return spec_; }
  Services& services() { return services_; }
  RememberingFaultUnit& fault_unit() { return unit_; }
  ActivityClock& activity() { return activity_; }
  GpuCounts& counts() { return counts_; }
  WaitList& changed() { return changed_; }
  PageTable& pages(int va_space);

  // Others than this GPU's own bottom half may change its page tables while a kernel runs: look-ahead must
  // be revocable.
  void set_shared() { shared_ = true; }
  bool shared() const { return shared_; }
  // Look-ahead goes no further than `most` at a time: the same results, in more time.
  void look_no_further(Duration most) { horizon_ = most_ahead_ = most; }

  // --- the fault hardware, kept up with the clock
  // Everything up to `at` has happened, page-table writes and replays that were due included.
  void advance(Time at);
  // Looks ahead to the next fault entry or the kernel's end, or as far as it is worth it.
  void look_ahead(Time at);
  // To when it looked.
  Time ahead_to() const { return ahead_to_; }
  // On a shared GPU: sleeps until `at`, before that, and returns true, unless the page table changes before: then false.
  bool undisturbed_until(Time at);
  // It found a fault: sleeps until the driver can see it and returns true, unless the page table changes before, so
  // that it does not come: then false. At once where nobody else changes the page table: it comes.
  bool wait_for_fault();
  // Sleeps until `at` and returns true, unless the page table changed under a look-ahead before: then false.
  bool sleep_unless_changed(Time at);
  // It found nothing: sleeps until there is more to see.
  void wait_for_more();
  // Page-table writes: now, or once `at` is reached.
  void apply(const PageTableWrite& write, Time at);
  void apply_later(std::vector<PageTableWrite>& writes, Time at);
  void replay_later(Time at);
  // The kernel that runs is of this process.
  void set_current_space(int va_space) { current_space_ = va_space; }
  int current_space() const { return current_space_; }
  // Tells the observer, when there is one, what is resident.
  void observe_residency();

  // --- policies that look beyond faults
  // Where their threads wait for work; notified whenever there may be some.
  WaitList& ahead_wanted() { return ahead_wanted_; }
  InFlight& in_flight() { return services_.in_flight; }

  // Before the driver services pages of a frame: blocks the calling actor, which has slept its `debt` of CPU time then,
  // until nobody else moves them. Whether somebody did.
  bool wait_for_frame(int va_space, FrameIndex frame, Duration& debt);

  // --- work of the driver
  // Performs the CPU part of `work` in the calling actor, `debt` (CPU time not slept yet) first, and queues
  // its chain; `group` gets it. Counts everything. The engine stops when memory ran out.
  void perform(BlockWork& work, Duration& debt, WaitGroup& group);
  // Performs an eviction on its own (cudaMalloc).
  void perform_eviction(const EvictionWork& eviction, Duration& debt, WaitGroup& group);

  CopyEngine& engine(CopyEngine::Direction d) { return d == CopyEngine::Direction::HostToDevice ? h2d_ : d2h_; }
  void copy_done(Chain& chain);

 private:
  struct Due {  // page-table writes or a replay, at a time to come
    Time at{};
    std::vector<PageTableWrite> writes;
    bool replay = false;
  };
  using Frames = std::vector<std::pair<int, FrameIndex>>;  // of a VA space each
  // What is still to be mapped of these pages is not: the driver has decided otherwise since.
  void supersede(const PageTableWrite& write);
  void set_leaving(std::span<const PageTableWrite> unmap, Frames& frames);
  void set_left(const Frames& frames);
  Chain& new_chain(WaitGroup& group);
  void begin_chain(const EvictionWork& eviction, Chain& chain, Duration& debt);
  void push_copy(Chain& chain, const BlockCopy& copy, bool eviction);
  void close_chain(Chain& chain);
  void finish_chain(Chain& chain, Time at);
  void count_copy(const BlockCopy& copy);
  void tell_residency(Observer& observer);
  void write_now(const PageTableWrite& write, Time at);
  void insert_due(Due due);

  Services& services_;
  GpuIndex index_;
  const GpuSpec& spec_;
  RememberingFaultUnit unit_;
  bool revoke_look_ahead();
  void tell_changed();

  bool ahead_ = false;  // `shared_`, and what was looked ahead to has not come
  Time looked_at_{}, ahead_to_{};
  // As long a look-ahead as is worth it: twice what the last one that was taken back had been good for, and what has
  // held since.
  Duration horizon_ = kNever, most_ahead_ = kNever;
  bool shared_ = false;
  int current_space_ = 0;
  std::vector<std::unique_ptr<PageTable>> pages_;
  std::deque<Due> due_;  // by time
  std::vector<Due> spare_due_;
  ActivityClock activity_;
  GpuCounts counts_;
  WaitList nap_;  // a sleep that a change of the page table ends
  WaitList changed_, ahead_wanted_;
  std::vector<std::unique_ptr<Chain>> chains_;
  std::vector<Chain*> free_chains_;
  CopyEngine h2d_, d2h_;
};

}  // namespace uvmsim
