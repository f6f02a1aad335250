// A plan: what happens to each tensor of one GPU in each interval in which no kernel uses it, and which calls a
// program makes beside its kernels. A value: it can be saved, compared, and replayed on hardware. PLAN.md describes
// its JSON.
//
// Places are ordinals, so that a plan does not depend on addresses or ids:
//   kernel  0 is the first kernel that the GPU is given in the iteration
//   tensor  first the allocations on the GPU that are live when the iteration begins, then those that the iteration
//           makes, both in the order in which they were made
// A plan is for iterations of one shape; iterations of another (a first one that sets up, one without an optimizer
// step) run without it or have a plan of their own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "plan/iteration_graph.h"
#include "trace/record.h"

namespace uvmsim {

// A moment on the GPU, not on the host: "before kernel k" is when the kernel's stream reaches it.
struct Trigger {
  enum class On : std::uint8_t {
    BeforeKernel,
    AfterKernel,
    Access,  // of the tensor by the kernel that uses it next: on demand
  };
  On on = On::AfterKernel;
  std::int32_t kernel = 0;  // not for Access
  friend bool operator==(const Trigger&, const Trigger&) = default;
};

// Who waits for a transfer. Source: the five forms that vDNN, vDNN++, IBM LMS, TFLMS and SwapAdvisor use.
enum class Sync : std::uint8_t {
  None,    // nobody; a kernel or allocation that comes too early falls back (Plan::reclaim, swap in on demand)
  Stream,  // the compute stream, at the first kernel that needs the data or the bytes; the host runs on
  Layer,   // the host joins compute and copy streams at the end of the layer (Plan::layer_ends)
  Alloc,   // the host's allocation that finds too few bytes waits until they are free
  Host,    // the host waits for the transfer where it issues it
};

// One transfer of a tensor, out of the GPU or into it.
struct Transfer {
  Trigger at;
  Sync sync = Sync::Stream;
  friend bool operator==(const Transfer&, const Transfer&) = default;
};

// What happens to a tensor between its use by kernel `last_use` and its use by kernel `next_use`.
struct Disposition {
  enum class Kind : std::uint8_t {
    Keep,
    Swap,       // to pinned host memory and back
    Drop,       // its contents are dead: its bytes are free until its next use, which overwrites it
    Recompute,  // as Drop, and `kernels` run again before the next use
    Encode,     // kept as `encoded_bytes` by `codec`
  };
  // When the device bytes of what was swapped out become free.
  enum class Release : std::uint8_t {
    CopyDone,
    Reclaim,  // when an allocation needs them; a use before that needs no transfer back
  };
  std::int32_t tensor = 0;
  std::int32_t last_use = 0;
  std::int32_t next_use = 0;  // not after `last_use`: in the next iteration of the same shape
  std::int64_t bytes = 0;     // of the tensor: a check that the plan fits the program
  Kind kind = Kind::Keep;
  Transfer out{};
  Transfer in{};
  Release release = Release::CopyDone;
  std::vector<std::int32_t> kernels{};  // of a Recompute, in order
  std::string codec{};                  // of an Encode
  std::int64_t encoded_bytes = 0;       // of an Encode

  bool wraps() const { return next_use <= last_use; }
  friend bool operator==(const Disposition&, const Disposition&) = default;
};

// One call of the CUDA runtime that a program makes beside a kernel's launch.
struct Call {
  enum class Kind : std::uint8_t {
    Prefetch,     // cudaMemPrefetchAsync
    Advise,       // cudaMemAdvise
    Discard,      // cudaMemDiscardBatchAsync
    DiscardLazy,  // the same, leaving the mappings
  };
  enum class Stream : std::uint8_t {
    Kernel,  // the kernel's own: what follows on it waits for the call
    Side,    // one of its own, which waits until the kernel's stream has reached the call; nothing waits for it
             // but `awaited_by`
  };
  Kind kind = Kind::Prefetch;
  std::int32_t kernel = 0;
  bool after = false;  // that kernel; else before it
  std::int32_t tensor = 0;
  std::int64_t offset = 0, bytes = -1;                      // -1: to the tensor's end
  bool to_cpu = false;                                      // where a Prefetch moves it; whose an Advise is
  trace::Advice advice = trace::Advice::PreferredLocation;  // of an Advise
  bool unset = false;                                       // the advice is taken back
  Stream stream = Stream::Kernel;
  std::int32_t awaited_by = -1;  // the first kernel whose stream waits for a call on a side stream; -1: none
  friend bool operator==(const Call&, const Call&) = default;
};

// What an allocation does that finds too few bytes free and no transfer to wait for.
enum class Reclaim : std::uint8_t {
  None,     // the process is out of memory
  Lms,      // the first idle tensor that is large enough, else idle tensors in that order; order: longest idle first
  Earliest  // tensors in the order of their last use until there are enough bytes
};

// Of one GPU, for iterations of one shape.
struct Plan {
  std::int32_t gpu = 0;  // of the machine
  IterationShape iteration{};
  std::string planner{};  // who made it
  bool feasible = true;   // within `budget`, by the planner's own model
  std::string why{};      // what the planner has to say about it, one sentence
  Bytes budget{};         // of device memory that it was made for
  Reclaim reclaim = Reclaim::Lms;
  bool speculate = false;                   // copy out early what was reclaimed at the same place an iteration before
  std::vector<std::int32_t> layer_ends{};   // the last kernel of each layer, ascending; for Sync::Layer
  std::vector<Disposition> dispositions{};  // by (tensor, last_use); at most one per interval; none: Keep
  std::vector<Call> calls{};                // for managed memory; calls at one place are made in this order
  friend bool operator==(const Plan&, const Plan&) = default;
};

// The calls that do to managed memory what the plan does to explicit memory, before or after `plan.calls`' own at
// their places: a swap becomes two prefetches on a side stream, a drop a discard. Recompute and Encode have none.
std::vector<Call> calls_of(const Plan& plan);

}  // namespace uvmsim
