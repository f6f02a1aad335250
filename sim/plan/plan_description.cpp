#include "plan/plan_description.h"

#include <limits>

#include "plan/plan_names.h"

namespace uvmsim {
namespace {

constexpr Range kOrdinal = {0, std::numeric_limits<std::int32_t>::max()};

const Description& describe_trigger() {
  using T = Trigger;
  static const Description d = Describe<T>("a moment on the GPU")
                                   .choice("on", &T::on, "what the moment is", kTriggerNames)
                                   .integer("kernel", &T::kernel, "before or after which kernel", kOrdinal)
                                   .build();
  return d;
}

const Description& describe_move() {
  using T = Move;
  static const Description d =
      Describe<T>("a tensor leaves the GPU and comes back before its next use")
          .part(&T::of, describe_interval())
          .text("to", &T::to, "a memory node of the machine; the host memory nearest to the GPU when it is not given")
          .section("out", &T::out, describe_transfer(), "out of the GPU")
          .section("in", &T::in, describe_transfer(), "into the GPU")
          .choice("release", &T::release, "when the device bytes become free", kReleaseNames)
          .flag("keep", &T::keep,
                "what was copied out stays there when the tensor comes back, until its contents change")
          .text("codec", &T::codec, "encodes it while it is away: a name from `uvmsim list codec`")
          .number("sparsity", &T::sparsity, "share of its elements that are zero, for the codec", {0, 1})
          .number("ratio", &T::ratio, "by which it gets smaller, for codecs of a ratio; 0: as the codec says", {0, {}})
          .build();
  return d;
}

const Description& describe_drop() {
  using T = Drop;
  static const Description d = Describe<T>("dead contents: the bytes are free until the next use overwrites them")
                                   .part(&T::of, describe_interval())
                                   .section("at", &T::at, describe_trigger(), "from when on")
                                   .build();
  return d;
}

const Description& describe_recompute() {
  using T = Recompute;
  static const Description d =
      Describe<T>("kernels run again and make tensors that were dropped")
          .integer("before", &T::before, "the kernel before which they run", kOrdinal)
          .integers("kernels", &T::kernels, "those that run again, in this order", kOrdinal)
          .sections("tensors", &T::tensors, describe_interval(), "what they make, dropped after its last use")
          .choice("keep", &T::keep, "how long what they made stays", kKeepNames)
          .integers("drop_again", &T::drop_again, "other tensors that they make, dropped again", kOrdinal)
          .build();
  return d;
}

const Description& describe_encode() {
  using T = Encode;
  static const Description d = Describe<T>("a tensor stays on the GPU, encoded and smaller")
                                   .part(&T::of, describe_interval())
                                   .section("out", &T::out, describe_trigger(), "when it is encoded")
                                   .section("in", &T::in, describe_trigger(), "when it is decoded")
                                   .text("codec", &T::codec, "a name from `uvmsim list codec`")
                                   .number("sparsity", &T::sparsity, "share of its elements that are zero", {0, 1})
                                   .number("ratio", &T::ratio, "as of a move", {0, {}})
                                   .build();
  return d;
}

const Description& describe_host_compute() {
  using T = HostCompute;
  static const Description d = Describe<T>("the CPU does the work of kernels that are not launched")
                                   .integers("kernels", &T::kernels, "whose work it does, in this order", kOrdinal)
                                   .section("at", &T::at, describe_trigger(), "when the GPU has come so far")
                                   .integer("cores", &T::cores, "of the host that work on it", {1, 4096}, "cores")
                                   .build();
  return d;
}

}  // namespace

const Description& describe_interval() {
  using T = TensorInterval;
  static const Description d = Describe<T>("a tensor between two uses")
                                   .integer("tensor", &T::tensor, "ordinal of the allocation", kOrdinal)
                                   .integer("last_use", &T::last_use, "the kernel before", kOrdinal)
                                   .integer("next_use", &T::next_use, "the kernel after", kOrdinal)
                                   .integer("bytes", &T::bytes, "of the tensor", {0, {}}, "B")
                                   .build();
  return d;
}

const Description& describe_transfer() {
  using T = Transfer;
  static const Description d = Describe<T>("when a transfer starts, and who waits for it")
                                   .part(&T::at, describe_trigger())
                                   .choice("sync", &T::sync, "who waits for it", kSyncNames)
                                   .build();
  return d;
}

const Description& describe_call() {
  using T = Call;
  static const Description d =
      Describe<T>("a call of the CUDA runtime along with a kernel")
          .choice("kind", &T::kind, "which call", kCallNames)
          .integer("kernel", &T::kernel, "along with which kernel", kOrdinal)
          .choice("when", &T::after, "before or after its launch", "before", "after")
          .integer("tensor", &T::tensor, "ordinal of the allocation", kOrdinal)
          .integer("offset", &T::offset, "of the first byte", {0, {}}, "B")
          .integer("bytes", &T::bytes, "how many; -1: to the tensor's end", {-1, {}}, "B")
          .choice("destination", &T::to_cpu, "where a prefetch moves it; whose an advice is", "gpu", "cpu")
          .choice("advice", &T::advice, "which", kAdviceNames, 1)
          .flag("unset", &T::unset, "the advice is taken back")
          .choice("stream", &T::stream, "the kernel's own, or one next to it", kCallStreamNames)
          .integer("awaited_by", &T::awaited_by, "the first kernel that waits for it; -1: none", {-1, kOrdinal.max})
          .build();
  return d;
}

const Description& describe_kernel_variant() {
  using T = KernelVariant;
  static const Description d = Describe<T>("a kernel that does not run as it is recorded")
                                   .integer("kernel", &T::kernel, "which", kOrdinal)
                                   .integer("variant", &T::variant, "of its launch variants, counted from 0", kOrdinal)
                                   .build();
  return d;
}

const Description& describe_iteration_shape() {
  using T = IterationShape;
  static const Description d = Describe<T>("which iterations")
                                   .integer("kernels", &T::kernels, "kernels of the iteration", kOrdinal)
                                   .integer("held", &T::held, "allocations live when it begins", kOrdinal)
                                   .integer("made", &T::made, "allocations it makes", kOrdinal)
                                   .build();
  return d;
}

const std::vector<std::string>& action_names() {
  static const std::vector<std::string> names = {"move", "drop", "recompute", "encode", "host_compute"};
  return names;
}

const std::vector<const Description*>& describe_actions() {
  static const std::vector<const Description*> descriptions = {
      &describe_move(), &describe_drop(), &describe_recompute(), &describe_encode(), &describe_host_compute()};
  return descriptions;
}

const Description& describe_plan() {
  using T = Plan;
  static const Description d =
      Describe<T>("the plan of one GPU")
          .index("gpu", &T::gpu, "of the machine", {0, 127})
          .section("iteration", &T::iteration, describe_iteration_shape(), "which iterations")
          .integer("first_iteration", &T::first_iteration, "from which on, counted from 0", kOrdinal)
          .text("planner", &T::planner, "who made it")
          .flag("feasible", &T::feasible, "whether it keeps to the budget, by the planner's own model")
          .text("why", &T::why, "what the planner says about it")
          .byte_number("budget_bytes", &T::budget, "device memory that it was made for")
          .text("reclaim", &T::reclaim, "what an allocation does that finds too few bytes: `uvmsim list reclaim`")
          .flag("speculate", &T::speculate, "copy out early what was reclaimed an iteration before")
          .integer("sub_batches", &T::sub_batches, "passes over parts of the batch, whose gradients are summed",
                   {1, 1024})
          .integers("order", &T::order, "the kernels in the order in which they run; none: as they are issued",
                    kOrdinal)
          .integers("layer_ends", &T::layer_ends, "the last kernel of each layer", kOrdinal)
          .variants("actions", &T::actions, "what happens to tensors", "action", action_names(), describe_actions())
          .sections("variants", &T::variants, describe_kernel_variant(), "kernels that do not run as they are recorded")
          .sections("calls", &T::calls, describe_call(), "along with kernels")
          .build();
  return d;
}

}  // namespace uvmsim
