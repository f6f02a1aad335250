#include "plan/iteration_graph.h"

#include <gmock/gmock.h>

#include "plan/plan_of_calls.h"
#include "workload/trace_builder.h"

namespace uvmsim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

trace::Kernel lasting(std::int64_t microseconds) { return {.duration_ns = microseconds * 1000}; }

IterationGraph last_graph(const trace::Trace& trace) {
  return IterationGraph(trace, DeviceOrdinal{0}, iterations_of(trace, DeviceOrdinal{0}).back());
}

// Held: w. Made: y, then z. conv reads w and writes y; relu_ updates y; loss reads y and writes z.
trace::Trace small_net() {
  TraceBuilder t({});
  const auto w = t.allocate(Bytes{1000}, TensorKind::Param);
  t.iteration(0);
  t.phase("forward");
  t.layer(t.string("first"));
  const auto y = t.allocate(Bytes{2048}, TensorKind::Activation);
  t.kernel("conv2d_k3_fwd", lasting(3), {reads(w), writes(y)});
  t.kernel("relu_", lasting(1), {updates(y)});
  t.layer(t.string("second"));
  const auto z = t.allocate(Bytes{4}, TensorKind::Activation);
  t.kernel("nll_loss_fwd", lasting(2), {reads(y), writes(z)});
  t.free(y);
  t.free(z);
  return t.take();
}

TEST(IterationGraph, CountsKernelsAndTensorsByOrdinals) {
  const IterationGraph g = last_graph(small_net());
  EXPECT_EQ(g.shape, (IterationShape{.kernels = 3, .held = 1, .made = 2}));
  EXPECT_EQ(g.name_of(1), "relu_");
  EXPECT_EQ(g.tensors[0].bytes, 1024);  // two units of 512
  EXPECT_EQ(g.tensors[0].asked, 1000);
  EXPECT_THAT(g.layer_ends, ElementsAre(1, 2));
  EXPECT_EQ(g.strings[static_cast<std::size_t>(g.kernels[1].layer)], "first");
  EXPECT_EQ(g.strings[static_cast<std::size_t>(g.tensors[2].layer)], "second");
  EXPECT_EQ(g.first_kernel_of("forward"), 0);
}

TEST(IterationGraph, KnowsWhoReadsWritesAndOverwritesWhat) {
  const IterationGraph g = last_graph(small_net());
  EXPECT_THAT(g.tensors[1].uses, ElementsAre(0, 1, 2));
  EXPECT_THAT(g.tensors[1].writers, ElementsAre(0, 1));
  EXPECT_TRUE(g.overwrites(0, 1));
  EXPECT_FALSE(g.overwrites(1, 1));  // it reads what it writes
  EXPECT_THAT(g.tensors[0].writers, IsEmpty());
}

TEST(IterationGraph, KnowsTheOtherWaysToRunAKernel) {
  trace::Trace net = small_net();
  net.variants = {{{.duration_ns = 2000, .workspace = 4096}}};
  for (trace::Record& record : net.records)
    if (auto* kernel = std::get_if<trace::Kernel>(&record); kernel != nullptr && kernel->duration_ns == 3000)
      kernel->variants = 0;
  const IterationGraph g = last_graph(net);
  EXPECT_EQ(g.kernels[1].variants, -1);
  ASSERT_EQ(g.kernels[0].variants, 0);
  EXPECT_EQ(g.variants[0][0].workspace, 4096);
}

TEST(IterationGraph, ClassesKernelsByTheirNames) {
  const IterationGraph g = last_graph(small_net());
  EXPECT_EQ(g.kernels[0].kind, KernelClass::Convolution);
  EXPECT_EQ(g.kernels[1].kind, KernelClass::Pointwise);
  EXPECT_EQ(g.kernels[2].kind, KernelClass::Reduction);
  EXPECT_EQ(class_of_kernel("volta_sgemm_128x64_nn"), KernelClass::Gemm);
  EXPECT_EQ(class_of_kernel("void cudnn::bn_fw_tr_1C11_kernel_NCHW"), KernelClass::Normalization);
  EXPECT_EQ(class_of_kernel("maxpool_fwd"), KernelClass::Pooling);
  EXPECT_EQ(class_of_kernel("void at::native::(anonymous namespace)::multi_tensor_apply_kernel"),
            KernelClass::Optimizer);
  EXPECT_EQ(class_of_kernel("embedding_bwd"), KernelClass::Embedding);
  EXPECT_EQ(class_of_kernel("k"), KernelClass::Other);
}

// Two accesses to halves of a tensor are one use; neither covers it.
TEST(IterationGraph, AllAccessesToATensorAreOneUse) {
  TraceBuilder t({});
  t.iteration(0);
  const auto a = t.allocate(Bytes{1024}, TensorKind::Activation);
  t.kernel("x", lasting(1),
           {{.tensor = a, .mode = trace::Mode::Write, .length = 512},
            {.tensor = a, .mode = trace::Mode::Write, .offset = 512, .length = 512}});
  const IterationGraph g = last_graph(t.take());
  ASSERT_EQ(g.uses_of(0).size(), 1u);
  EXPECT_TRUE(g.uses_of(0)[0].writes);
  EXPECT_FALSE(g.uses_of(0)[0].reads);
  EXPECT_FALSE(g.uses_of(0)[0].overwrites);
}

TEST(IterationGraph, StepsAreInIssueOrder) {
  const IterationGraph g = last_graph(small_net());
  using Kind = GraphStep::Kind;
  std::vector<std::pair<Kind, int>> steps;
  for (const GraphStep& s : g.steps) steps.emplace_back(s.kind, s.index);
  EXPECT_THAT(steps, ElementsAre(std::pair(Kind::Allocate, 1), std::pair(Kind::Kernel, 0), std::pair(Kind::Kernel, 1),
                                 std::pair(Kind::Allocate, 2), std::pair(Kind::Kernel, 2), std::pair(Kind::Free, 1),
                                 std::pair(Kind::Free, 2)));
}

// In the second iteration a is gone, b is held and c is made: b has ordinal 0 there.
TEST(IterationsOf, TensorsThatAreHeldComeFirst) {
  TraceBuilder t({});
  const auto a = t.allocate(Bytes{512}, TensorKind::Param);
  t.iteration(0);
  const auto b = t.allocate(Bytes{512}, TensorKind::Param);
  t.kernel("x", lasting(1), {writes(b)});
  t.free(a);
  t.iteration(1);
  const auto c = t.allocate(Bytes{512}, TensorKind::Param);
  t.kernel("x", lasting(1), {writes(c)});
  t.free(c);
  const auto iterations = iterations_of(t.take(), DeviceOrdinal{0});
  ASSERT_EQ(iterations.size(), 2u);
  EXPECT_EQ(iterations[0].shape, (IterationShape{1, 1, 1}));
  EXPECT_THAT(iterations[1].tensors, ElementsAre(b, c));
  EXPECT_EQ(iterations[1].freed[0], kNoRecord);
  EXPECT_LT(iterations[1].made[1], iterations[1].freed[1]);
}

TEST(IterationsOf, ATraceThatMarksNoneIsOne) {
  TraceBuilder t({});
  const auto a = t.allocate(Bytes{512}, TensorKind::Param);
  t.kernel("x", lasting(1), {writes(a)});
  const auto iterations = iterations_of(t.take(), DeviceOrdinal{0});
  ASSERT_EQ(iterations.size(), 1u);
  EXPECT_EQ(iterations[0].shape, (IterationShape{1, 0, 1}));
}

// A captured program says that its memory is managed: its tensors have the same ordinals for whoever counts. Tensor 1
// of the plan that repeats its calls is tensor 1 of the graph.
TEST(IterationsOf, ManagedTensorsCountForAll) {
  TraceBuilder t({});
  t.iteration(0);
  const auto space = static_cast<std::int8_t>(trace::Space::Managed);
  const auto host = static_cast<std::int8_t>(trace::Space::PinnedHost);
  t.append(trace::Alloc{.tensor = 10, .bytes = 512, .space = space});
  t.append(trace::Alloc{.tensor = 11, .bytes = 512, .space = host});
  t.append(trace::Alloc{.tensor = 12, .bytes = 512, .space = space});
  t.append(trace::Prefetch{.tensor = 12});
  t.kernel("x", lasting(1), {reads(12)});
  const trace::Trace trace = t.take();
  EXPECT_THAT(iterations_of(trace, DeviceOrdinal{0}).back().tensors, ElementsAre(10, 12));
  const std::vector<Plan> plans = plans_of_calls(trace, "itself");
  ASSERT_EQ(plans.size(), 1u);
  EXPECT_EQ(plans[0].iteration, iterations_of(trace, DeviceOrdinal{0}).back().shape);
  EXPECT_EQ(plans[0].calls.at(0).tensor, 1);
}

}  // namespace
}  // namespace uvmsim
