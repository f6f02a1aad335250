// Runs one simulation: machine, placed programs and options in, result out. Reads and writes no file.
//
// The engine behind it (SimGrid) is global: call it once per process.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "machine/machine.h"
#include "memory/allocator.h"
#include "metrics/result.h"
#include "observe/observer.h"
#include "plan/coordinator.h"

namespace uvmsim {

// One process of the job: a VaSpace, a host thread, its streams. Several may share one Program.
struct Process {
  const Program* program = nullptr;
  IndexedVector<DeviceOrdinal, GpuIndex> gpus;  // which each device of the program is
  // The program's cudaMalloc allocations are tensors that share each GPU's memory (engine/tensor_memory.h): they move
  // as the plans say that the program was lowered under (plan/lower.h), on demand where they say nothing.
  bool planned = false;
  // Places tensors under plans; nullptr: their bytes are counted. Used only by `run`.
  const AllocatorFactory* allocator = nullptr;
  // It enables peer access to every GPU that its own reach (Machine::peer_access), also where other processes run:
  // cudaMalloc maps its memory on each. false: between its own GPUs only.
  bool enables_peers = false;
};

struct RunOptions {
  int warmup = 1;          // iterations before the first that may be measured; after them the host waits for the GPUs
  bool from_host = false;  // after them all managed memory is prefetched to the host; `warmup` is at least 1
  bool unlimited_memory = false;  // the in-core reference: every GPU holds whatever is asked of it
  bool unlimited_links = false;   // no link is ever shared: what the same copies take alone
  // Process n starts, and comes out of each collective that others do not continue, n times this later than process 0.
  // Identical processes in step would meet on shared links at every copy, which real ones never do: any offset breaks
  // the step.
  Duration process_stagger{};
  bool audit = false;   // check the driver's invariants as the run goes
  bool recalls = true;  // kernels that go as others did are recalled: the same as walking them, in less time
  // How far a GPU is looked ahead of at a time, where others may change its page tables: the same results, in more or
  // less time.
  Duration most_ahead = kNever;
  std::string prefetch_gate = {};  // of every process: `uvmsim list gate`; "": each prefetch is made
  // Called now and then with the share done, 0..1, and the simulated time.
  std::function<void(double, Time)> progress;
  const CoordinatorFactory* coordinator = nullptr;  // of the copies of all plans; nullptr: none. Used only by `run`
  Observer* observer = nullptr;                     // is told what happens; must live until `run` returns
};

Result run(const Machine& machine, std::span<const Process> processes, const RunOptions& options);

}  // namespace uvmsim
