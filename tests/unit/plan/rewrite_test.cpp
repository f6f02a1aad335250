#include "plan/rewrite.h"

#include <gmock/gmock.h>

#include "base/user_error.h"
#include "plan/kernel_order.h"
#include "support/layer_chain.h"
#include "trace/checker.h"

namespace uvmsim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

// What a trace does, a letter each: A allocates, F frees, and kernels by their names.
std::string text_of(const trace::Trace& trace) {
  std::string text;
  for (const trace::Record& record : trace.records) {
    if (const auto* alloc = std::get_if<trace::Alloc>(&record)) text += "A" + std::to_string(alloc->tensor) + " ";
    if (const auto* free = std::get_if<trace::Free>(&record)) text += "F" + std::to_string(free->tensor) + " ";
    if (const auto* kernel = std::get_if<trace::Kernel>(&record))
      text += trace.strings[static_cast<std::size_t>(kernel->name)] + " ";
    if (const auto* phase = std::get_if<trace::Phase>(&record))
      text += "(" + trace.strings[static_cast<std::size_t>(phase->name)] + ") ";
  }
  return text;
}

// make writes 1, use reads it and writes 2, late works on 3 alone: the gradient's step, say.
trace::Trace chain_and_another() {
  TraceBuilder t({});
  t.iteration(0);
  t.phase("first");
  const trace::TensorId x = t.allocate(Bytes{1024}, TensorKind::Activation);
  t.kernel("make", {.duration_ns = 10}, {writes(x)});
  const trace::TensorId y = t.allocate(Bytes{512}, TensorKind::Activation);
  t.kernel("use", {.duration_ns = 20}, {reads(x), writes(y)});
  t.phase("second");
  const trace::TensorId z = t.allocate(Bytes{512}, TensorKind::Activation);
  t.kernel("late", {.duration_ns = 30}, {writes(z)});
  t.free(x);
  t.free(y);
  t.free(z);
  return t.take();
}

// Tensors live from their first user to their last; phases go with their kernels.
TEST(Rewrite, KernelsTakeTheirTensorsAndPhasesAlong) {
  const trace::Trace trace = chain_and_another();
  const IterationShape shape{.kernels = 3, .held = 0, .made = 3};
  const trace::Trace ordered = with_order(trace, shape, std::vector<std::int32_t>{0, 2, 1}, "");
  EXPECT_EQ(text_of(ordered), "(first) A1 make (second) A3 late F3 (first) A2 use F1 F2 (second) ");
  EXPECT_TRUE(check_trace(ordered).empty());
  EXPECT_EQ(text_of(with_order(trace, {.kernels = 2}, std::vector<std::int32_t>{1, 0}, "")), text_of(trace));
}

// Kernels keep their layers: the first has none, and comes second.
TEST(Rewrite, KernelsKeepTheirLayers) {
  TraceBuilder t({});
  t.iteration(0);
  const trace::TensorId x = t.allocate(Bytes{512}, TensorKind::Activation),
                        y = t.allocate(Bytes{512}, TensorKind::Activation);
  t.kernel("bare", {.duration_ns = 10}, {writes(x)});
  t.layer(t.string("deep"));
  t.kernel("layered", {.duration_ns = 20}, {writes(y)});
  t.free(x);
  t.free(y);
  const trace::Trace ordered =
      with_order(t.take(), {.kernels = 2, .held = 0, .made = 2}, std::vector<std::int32_t>{1, 0}, "");
  EXPECT_TRUE(check_trace(ordered).empty());
  const IterationGraph graph(ordered, DeviceOrdinal{}, iterations_of(ordered, DeviceOrdinal{}).front());
  EXPECT_EQ(graph.name_of(0), "layered");
  EXPECT_EQ(graph.strings[static_cast<std::size_t>(graph.kernels[0].layer)], "deep");
  EXPECT_EQ(graph.kernels[1].layer, -1);
}

TEST(Rewrite, RefusesOrdersThatAnIterationCannotHave) {
  const Plan plan{.gpu = GpuIndex{1}, .iteration = {.kernels = 3, .held = 0, .made = 3}, .order = {1, 0, 2}};
  EXPECT_THAT(([&] {
                rewritten(chain_and_another(), {&plan, 1}, nullptr);
              }),
              ThrowsMessage<UserError>(HasSubstr("gpu 1 /order: kernel 1 needs that kernel 0 runs before it")));
}

TEST(Rewrite, PlansOfOneProgramAgree) {
  const std::vector<Plan> plans = {{.gpu = GpuIndex{0}, .sub_batches = 2}, {.gpu = GpuIndex{1}, .sub_batches = 4}};
  EXPECT_THAT(([&] { rewritten(LayerChain{}.trace(), plans, nullptr); }),
              ThrowsMessage<UserError>(HasSubstr("gpu 1 /sub_batches: expected 2")));
}

// Any order that priorities make of a chain with an optimizer is a valid program of the same kernels, and the
// optimizer's step of a layer may come right behind its gradient: with the steps first, no two gradients live at once.
TEST(Rewrite, OptimizersMayStepBehindEachGradient) {
  const LayerChain chain{.layers = 4, .weight = 8 << 20, .optimizer = true};
  const trace::Trace trace = chain.trace(1);
  const IterationRecords iteration = iterations_of(trace, DeviceOrdinal{}).front();
  const IterationGraph graph(trace, DeviceOrdinal{}, iteration);
  std::vector<double> priority;
  for (std::int32_t k = 0; k < graph.shape.kernels; ++k) priority.push_back(k < 8 ? 1 : 0);
  const std::vector<std::int32_t> order = KernelOrder(graph).by_priority(priority);
  EXPECT_THAT(std::vector(order.begin() + 4, order.begin() + 9), ElementsAre(4, 17, 18, 19, 5));
  const trace::Trace ordered = with_order(trace, iteration.shape, order, "");
  EXPECT_TRUE(check_trace(ordered).empty());
  std::int64_t gradients = 0, most = 0;
  std::map<trace::TensorId, bool> is_gradient;
  for (const trace::Record& record : ordered.records) {
    if (const auto* a = std::get_if<trace::Alloc>(&record))
      gradients += is_gradient[a->tensor] = a->kind == static_cast<int>(TensorKind::WeightGradient);
    if (const auto* f = std::get_if<trace::Free>(&record)) gradients -= is_gradient[f->tensor];
    most = std::max(most, gradients);
  }
  EXPECT_EQ(most, 1);
}

}  // namespace
}  // namespace uvmsim
