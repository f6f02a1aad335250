// A plan: what happens to tensors of one GPU in intervals in which no kernel uses them, as a list of typed actions, and
// which calls a program makes along with its kernels. A value: it can be saved, compared, and replayed on hardware.
// plan_checker.h proves it against an iteration, lower.h turns it into operations. PLAN.md describes its JSON.
//
// Places are ordinals, so that a plan does not depend on addresses or ids:
//   kernel  0 is the first kernel that the GPU is given in the iteration
//   tensor  first the allocations on the GPU that are live when the iteration begins, then those that the iteration
//           makes, both in the order in which they were made
// A plan is for iterations of one shape; iterations of another (a first one that sets up, one without an optimizer
// step) run without it or have a plan of their own.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/units.h"
#include "memory/program.h"
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

// One transfer of a tensor, out of the GPU or into it.
struct Transfer {
  Trigger at;
  Sync sync = Sync::Stream;
  friend bool operator==(const Transfer&, const Transfer&) = default;
};

// The bytes of a tensor between its use by kernel `last_use` and its use by kernel `next_use`.
struct TensorInterval {
  std::int32_t tensor = -1;
  std::int32_t last_use = -1;
  std::int32_t next_use = -1;  // not after `last_use`: in the next iteration of the same shape
  std::int64_t bytes = 0;      // of the tensor: a check that the plan fits the program

  bool wraps() const { return next_use <= last_use; }
  friend auto operator<=>(const TensorInterval&, const TensorInterval&) = default;
};

// The tensor leaves the GPU and comes back before its next use.
struct Move {
  TensorInterval of;
  std::string to{};  // a memory node of the machine; "": the host memory nearest to the GPU
  Transfer out{};
  Transfer in{{Trigger::On::Access, 0}};
  // When the device bytes of what was copied out become free.
  enum class Release : std::uint8_t {
    CopyDone,
    Reclaim,  // when an allocation needs them; a use before that needs no transfer back
  };
  Release release = Release::CopyDone;
  // What was copied out stays there when the tensor comes back, and holds its bytes, until the tensor is written,
  // dropped, encoded or freed, or moved elsewhere. Until then a move out copies nothing.
  bool keep = false;
  std::string codec{};  // encodes it while it is away; "": as it is
  double sparsity = 0;  // share of the tensor's elements that are zero, for the codec
  double ratio = 0;     // by which it gets smaller, for codecs that do not know better; 0: as the codec says
  friend bool operator==(const Move&, const Move&) = default;
};

// The contents are dead: the next use overwrites them. The bytes are free until then.
struct Drop {
  TensorInterval of;
  Trigger at{};
  friend bool operator==(const Drop&, const Drop&) = default;
};

// The tensors are dropped after their last uses, and before kernel `before` the kernels of the segment run again, in
// this order, and make them: before the allocations directly before that kernel, as is all that is done there. A
// segment, not a tensor: what a block computes together comes back together.
struct Recompute {
  enum class Keep : std::uint8_t {
    Interval,  // what was made again stays
    Use,       // it is dropped again
  };
  std::int32_t before = -1;             // first of the next uses of `tensors`, or earlier
  std::vector<std::int32_t> kernels{};  // those to run again
  // Empty: earlier actions dropped what is made.
  std::vector<TensorInterval> tensors{};
  Keep keep = Keep::Interval;
  // Other tensors that `kernels` made or read, dropped again. What is dropped again leaves after kernel `before` if
  // that uses it, else after the last of `kernels` that does (dropped_again.h).
  std::vector<std::int32_t> drop_again{};
  friend bool operator==(const Recompute&, const Recompute&) = default;
};

// The tensor stays on the GPU, encoded and therefore smaller, until `in`.
struct Encode {
  TensorInterval of;
  Trigger out{};
  Trigger in{Trigger::On::Access, 0};
  std::string codec{};
  double sparsity = 0;  // as of Move
  double ratio = 0;     // the same
  friend bool operator==(const Encode&, const Encode&) = default;
};

// The CPU does the work of `kernels`, once the GPU has come to `at`: they are not launched. Their operands must be in
// host memory then, where moves brought them; moves into the GPU wait for the result. What the iteration makes and
// frees for such kernels alone is never on the GPU.
struct HostCompute {
  std::vector<std::int32_t> kernels{};
  Trigger at{};
  int cores = 1;
  friend bool operator==(const HostCompute&, const HostCompute&) = default;
};

using Action = std::variant<Move, Drop, Recompute, Encode, HostCompute>;

// Kernel `kernel` runs in another way: as the variant `variant` of its own. The workspace is allocated right before it
// and freed right after it.
struct KernelVariant {
  std::int32_t kernel = -1;
  std::int32_t variant = 0;  // into IterationGraph::variants_of(kernel)
  friend bool operator==(const KernelVariant&, const KernelVariant&) = default;
};

// One call of the CUDA runtime that a program makes next to a kernel's launch.
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
  std::int32_t kernel = -1;
  bool after = false;  // that kernel; else before it
  std::int32_t tensor = -1;
  std::int64_t offset = 0, bytes = -1;                      // -1: to the tensor's end
  bool to_cpu = false;                                      // where a Prefetch moves it; whose an Advise is
  trace::Advice advice = trace::Advice::PreferredLocation;  // of an Advise
  bool unset = false;                                       // the advice is taken back
  Stream stream = Stream::Kernel;
  std::int32_t awaited_by = -1;  // the first kernel whose stream waits for a call on a side stream; -1: none
  friend bool operator==(const Call&, const Call&) = default;
};

// Of one GPU, for iterations of one shape.
struct Plan {
  GpuIndex gpu{};  // of the machine
  IterationShape iteration{};
  std::string planner{};             // who made it
  bool feasible = true;              // within `budget`, by the planner's own model
  std::string why{};                 // what the planner has to say about it, one sentence
  Bytes budget{};                    // of device memory that it was made for
  std::int32_t first_iteration = 0;  // that it is for, counted from 0: a later plan replaces one of the same shape
  std::string reclaim = "lms";       // a name from `uvmsim list reclaim`: who makes room when all is in use
  bool speculate = false;            // copy out early what was reclaimed at the same place an iteration before
  // The program that it is for, where that is not the recorded one (rewrite.h): ordinals count in it.
  int sub_batches = 1;                     // passes over equal parts of the batch
  std::vector<std::int32_t> order{};       // which of these kernels runs first, second, ...; empty: as issued
  std::vector<std::int32_t> layer_ends{};  // the last kernel of each layer, ascending; for Sync::Layer
  std::vector<Action> actions{};           // those at one place are done in this order, what leaves the GPU first
  std::vector<KernelVariant> variants{};   // of kernels that do not run as they are recorded; each at most once
  std::vector<Call> calls{};               // for managed memory; calls at one place are made in this order
  friend bool operator==(const Plan&, const Plan&) = default;
};

// Whether the copy out runs while the last user, which only reads, still does (vDNN copies a feature map so): the
// moment is before that kernel. The bytes are free after it.
inline bool copies_during_last_use(const Move& move) {
  return move.out.at.on == Trigger::On::BeforeKernel && move.out.at.kernel == move.of.last_use;
}

// Bytes of the GPU that the variant's workspace holds.
std::int64_t workspace_of(const IterationGraph& graph, const KernelVariant& variant);

// The kernels whose work the CPU does.
std::set<std::int32_t> kernels_on_host(const Plan& plan);
// The tensors that the iteration makes and frees and that kernels of `on_host` use and nothing else does.
std::set<std::int32_t> tensors_on_host(const IterationGraph& graph, const std::set<std::int32_t>& on_host);

// What leaves again of what a segment made or read: `drop_again`, and with Keep::Use its tensors before them.
std::vector<std::int32_t> dropped_again(const Recompute& segment);

// The intervals in which the action frees device memory; none for HostCompute.
std::vector<TensorInterval> intervals_of(const Action& action);

}  // namespace uvmsim
