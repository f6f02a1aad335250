#include <gmock/gmock.h>
#include <map>
#include <numeric>

#include "base/user_error.h"
#include "support/generate.h"
#include "trace/checker.h"
#include "workload/edit.h"
#include "workload/trace_builder.h"
#include "workload/transform.h"

namespace uvmsim {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using trace::Kernel;
using trace::Mode;

trace::Trace applied(const std::string& name, trace::Trace trace) {
  trace::Trace after = transforms().find(name)->make()->apply(std::move(trace));
  EXPECT_TRUE(check_trace(after).empty()) << name;
  return after;
}

std::vector<std::int64_t> durations(const trace::Trace& trace) {
  std::vector<std::int64_t> ns;
  for (const Kernel& kernel : records_of<Kernel>(trace)) ns.push_back(kernel.duration_ns);
  return ns;
}

std::int64_t sum(const std::vector<std::int64_t>& ns) { return std::accumulate(ns.begin(), ns.end(), std::int64_t{0}); }

trace::Trace scaled(double factor, trace::Trace trace) {
  const auto transform = registry<Transform>().find("scale_host")->make();
  parameter<double>(*transform, "factor") = factor;
  return transform->apply(std::move(trace));
}

// Calls of 9000 ns, a host step of 1000 ns, and a kernel of 500 ns with a gap of 7 ns before it: times 1.5 they are
// 13500, 1500 and 10.5, which rounds to 11; the kernel's 500 are the GPU's.
TEST(ScaleHost, ScalesWhatTheHostDoesAndNothingElse) {
  TraceBuilder t{trace::Header{}};
  t.header().host_op_ns = 9000;
  const trace::TensorId a = t.allocate(Bytes{4096}, TensorKind::Other);
  t.append(trace::HostStep{.duration_ns = 1000});
  t.kernel("k", {.duration_ns = 500, .gap_ns = 7}, {writes(a)});
  const trace::Trace trace = scaled(1.5, t.take());
  EXPECT_EQ(trace.header.host_op_ns, 13'500);
  EXPECT_EQ(std::get<trace::HostStep>(trace.records[1]).duration_ns, 1500);
  EXPECT_EQ(std::get<trace::Kernel>(trace.records[2]).duration_ns, 500);
  EXPECT_EQ(std::get<trace::Kernel>(trace.records[2]).gap_ns, 11);
}

TEST(ScaleHost, RefusesATraceWithoutHostTimes) {
  TraceBuilder t{trace::Header{}};
  t.append(trace::Iteration{0});
  EXPECT_THROW(scaled(2, t.take()), UserError);
}

// A convolution, a ReLU and a step of the optimizer, 600 ns each.
TraceBuilder small_net() {
  TraceBuilder t{trace::Header{}};
  const trace::TensorId w = t.allocate(Bytes{4096}, TensorKind::Param);
  t.iteration(0);
  for (const char* name : {"conv2d_fwd", "relu_fwd", "sgd_p_add_"}) t.kernel(name, {.duration_ns = 600}, {updates(w)});
  return t;
}

// 600 / 3, 600 / 2; the optimizer goes on in single precision.
TEST(Amp, TakesAThirdForMatricesAndAHalfForTheRest) {
  EXPECT_EQ(durations(applied("amp", small_net().take())), (std::vector<std::int64_t>{200, 300, 600}));
}

TEST(Amp, RefusesWhatMultipliesNoMatrices) {
  TraceBuilder t{trace::Header{}};
  t.kernel("relu_fwd", {.duration_ns = 600}, {});
  EXPECT_THAT([&] { applied("amp", t.take()); }, ThrowsMessage<UserError>(HasSubstr("no matrix product")));
}

TEST(Amp, RefusesWhatRunsOnTensorCoresAlready) {
  TraceBuilder t = small_net();
  t.kernel("volta_fp16_s884gemm", {.duration_ns = 600}, {});
  EXPECT_THAT([&] { applied("amp", t.take()); }, ThrowsMessage<UserError>(HasSubstr("on tensor cores already")));
}

// Of two iterations with three optimizer kernels of 10, 20 and 30 ns each, two are left, of 60 ns, that read the
// gradient, and read and write the weight and the moment: the square root that only lives in between is left out.
TEST(FusedOptimizer, IsOneKernelAnIterationWithAllThatOutlivesIt) {
  TraceBuilder t{trace::Header{}};
  const trace::TensorId weight = t.allocate(Bytes{4096}, TensorKind::Param);
  const trace::TensorId gradient = t.allocate(Bytes{4096}, TensorKind::WeightGradient);
  const trace::TensorId moment = t.allocate(Bytes{4096}, TensorKind::Optimizer);
  for (const int i : {0, 1}) {
    t.iteration(i);
    const trace::TensorId root = t.allocate(Bytes{4096}, TensorKind::Workspace);
    t.kernel("adam_m_add_", {.duration_ns = 10}, {reads(gradient), updates(moment)});
    t.kernel("adam_sqrt", {.duration_ns = 20}, {reads(moment), writes(root)});
    t.free(root);
    t.kernel("adam_addcdiv_", {.duration_ns = 30}, {updates(weight), reads(moment)});
  }
  const trace::Trace after = applied("fused_optimizer", t.take());
  const std::vector<Kernel> kernels = records_of<Kernel>(after);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[1].duration_ns, 60);
  std::map<trace::TensorId, Mode> modes;
  for (std::uint32_t i = 0; i < kernels[1].accesses.count; ++i) {
    const trace::Access& access = after.accesses[kernels[1].accesses.first + i];
    modes[access.tensor] = access.mode;
  }
  EXPECT_EQ(modes, (std::map<trace::TensorId, Mode>{
                       {weight, Mode::ReadWrite}, {gradient, Mode::Read}, {moment, Mode::ReadWrite}}));
}

TEST(FusedOptimizer, RefusesATraceWithoutAnOptimizer) {
  EXPECT_THAT([] { applied("fused_optimizer", generate("vector_add", "{}", 1)); },
              ThrowsMessage<UserError>(HasSubstr("no iteration has two optimizer kernels")));
}

// Forward: normalization of 100 ns and ReLU of 40 ns become 50 ns. Backward: ReLU and normalization, the same. What
// stands alone is halved; a convolution is not touched.
TEST(BatchNormReconstruction, HalvesTheNormalizationAndTakesTheReluAway) {
  TraceBuilder t{trace::Header{}};
  const trace::TensorId x = t.allocate(Bytes{4096}, TensorKind::Activation);
  const trace::TensorId y = t.allocate(Bytes{4096}, TensorKind::Activation);
  t.iteration(0);
  t.phase("forward");
  t.kernel("conv2d_fwd", {.duration_ns = 500}, {writes(x)});
  t.kernel("bn_fwd", {.duration_ns = 100}, {updates(x)});
  t.kernel("relu_fwd", {.duration_ns = 40}, {reads(x), writes(y)});
  t.kernel("bn_fwd", {.duration_ns = 100}, {updates(y)});
  t.phase("backward");
  t.kernel("relu_bwd", {.duration_ns = 40}, {updates(y)});
  t.kernel("bn_bwd", {.duration_ns = 200}, {updates(y)});
  const trace::Trace after = applied("batch_norm_reconstruction", t.take());
  EXPECT_EQ(durations(after), (std::vector<std::int64_t>{500, 50, 50, 100}));
}

TEST(BatchNormReconstruction, LeavesLayerNormalizationAlone) {
  TraceBuilder t{trace::Header{}};
  t.kernel("layer_norm_fwd", {.duration_ns = 100}, {});
  EXPECT_THROW(applied("batch_norm_reconstruction", t.take()), UserError);
}

TEST(ScaleKernels, ScalesOnlyWhatIsSelected) {
  const auto transform = transforms().find("scale_kernels")->make();
  parameter<std::string>(*transform, "kernel") = "relu";
  parameter<double>(*transform, "factor") = 0.25;
  EXPECT_EQ(durations(transform->apply(small_net().take())), (std::vector<std::int64_t>{600, 150, 600}));
  parameter<std::string>(*transform, "layer") = "nowhere";
  EXPECT_THAT([&] { transform->apply(small_net().take()); },
              ThrowsMessage<UserError>(HasSubstr("scale_kernels selects nothing")));
}

TEST(ScaleKernels, HasToBeToldWhich) {
  EXPECT_THAT([] { applied("scale_kernels", small_net().take()); },
              ThrowsMessage<UserError>(HasSubstr("needs to know which")));
}

// Of 1 MiB the middle half is read, in rows of 4 KiB with elements of 4 bytes: 512 KiB, 256 KiB at 128 KiB, 2 KiB, 2.
// The copy of it moves half the bytes; the weight stays.
TEST(ScaleTensors, ScalesSizesRangesAndStridesAlike) {
  TraceBuilder t{trace::Header{}};
  const trace::TensorId x = t.allocate(Bytes{1 << 20}, TensorKind::Activation);
  const trace::TensorId w = t.allocate(Bytes{4096}, TensorKind::Param);
  const std::int32_t rows = t.options({.rows = 128, .columns = 1024, .leading_dimension = 4096, .element_bytes = 4});
  t.copy({.bytes = 1 << 20}, {writes(x)});
  t.kernel("k", {.duration_ns = 5}, {at(reads(x, trace::Pattern::Rows, rows), 1 << 18, 1 << 19), reads(w)});
  const auto transform = transforms().find("scale_tensors")->make();
  parameter<std::string>(*transform, "kind") = "act";
  const trace::Trace after = transform->apply(t.take());
  EXPECT_TRUE(check_trace(after).empty());
  EXPECT_EQ(records_of<trace::Alloc>(after)[0].bytes, 1 << 19);
  EXPECT_EQ(records_of<trace::Alloc>(after)[1].bytes, 4096);
  EXPECT_EQ(records_of<trace::Copy>(after)[0].bytes, 1 << 19);
  const trace::Access& access = after.accesses[records_of<Kernel>(after)[0].accesses.first];
  EXPECT_EQ(access.offset, 1 << 17);
  EXPECT_EQ(access.length, 1 << 18);
  const trace::PatternOptions& options = after.options[static_cast<std::size_t>(access.options)];
  EXPECT_EQ(options.leading_dimension, 2048);
  EXPECT_EQ(options.element_bytes, 2);
  EXPECT_EQ(options.columns, 1024);
}

// Every kind of layer that our networks have.
TEST(ScaleTensors, LeavesAValidTrace) {
  for (const char* network : {"resnet50", "bert_base", "word_language_model", "dlrm", "unet"})
    applied("amp", generate(network, R"({"batch": 2})", 2));
}

TEST(RemoveKernels, TakesThemOutAndNeedsToBeToldWhich) {
  EXPECT_THROW(applied("remove_kernels", small_net().take()), UserError);
  const auto transform = transforms().find("remove_kernels")->make();
  parameter<std::string>(*transform, "kernel") = "sgd";
  EXPECT_EQ(durations(transform->apply(small_net().take())), (std::vector<std::int64_t>{600, 600}));
}

// Two convolutions and the backward pass of the second. A GPU of 1 TFLOP/s and 1 TB/s: 10^6 operations take 1000 ns,
// the operands a few.
//   layer a   x 1000 B, w1 2000 -> y1 4000       layer b   y1, w2 8000 -> y2 4000
//   backward  dy2 4000, w2 -> dy1 4000           dy2, y1 -> dw2 8000
TraceBuilder two_convolutions() {
  TraceBuilder t{trace::Header{}};
  t.header().devices = {{.name = "GPU", .memory_bytes = 1 << 30, .fp32_flops = 1e12, .bandwidth = 1e12}};
  const auto tensor = [&](std::int64_t bytes, TensorKind kind) { return t.allocate(Bytes{bytes}, kind); };
  const trace::TensorId w1 = tensor(2000, TensorKind::Param), w2 = tensor(8000, TensorKind::Param);
  t.iteration(0);
  const trace::TensorId x = tensor(1000, TensorKind::Input);
  const trace::TensorId y1 = tensor(4000, TensorKind::Activation), y2 = tensor(4000, TensorKind::Activation);
  const trace::TensorId dy2 = tensor(4000, TensorKind::Gradient), dy1 = tensor(4000, TensorKind::Gradient);
  const trace::TensorId dw2 = tensor(8000, TensorKind::WeightGradient);
  const auto kernel = [&](const char* layer, const char* name, const std::vector<trace::Access>& operands) {
    t.layer(t.string(layer));
    t.kernel(name, {.duration_ns = 1000, .flops = 1e6}, operands);
  };
  t.phase("forward");
  kernel("a", "conv2d_k3_fwd", {reads(x), reads(w1), writes(y1)});
  kernel("b", "conv2d_k3_fwd", {reads(y1), reads(w2), writes(y2)});
  t.phase("backward");
  kernel("b", "conv2d_k3_dgrad", {reads(dy2), reads(w2), writes(dy1)});
  kernel("b", "conv2d_k3_wgrad", {reads(dy2), reads(y1), writes(dw2)});
  return t;
}

trace::Trace pruned(const std::string& layer, const std::string& except = "") {
  const auto transform = transforms().find("prune")->make();
  parameter<double>(*transform, "fraction") = 0.25;
  parameter<std::string>(*transform, "layer") = layer;
  parameter<std::string>(*transform, "except") = except;
  trace::Trace after = transform->apply(two_convolutions().take());
  EXPECT_TRUE(check_trace(after).empty());
  return after;
}

// In the order of their allocation: w1, w2, x, y1, y2, dy2, dy1, dw2.
std::vector<std::int64_t> bytes(const trace::Trace& trace) {
  std::vector<std::int64_t> bytes;
  for (const trace::Alloc& alloc : records_of<trace::Alloc>(trace)) bytes.push_back(alloc.bytes);
  return bytes;
}

// Without a quarter of the filters of a: 3/4 of w1, y1 and its gradient, and of the inputs of w2 and of its gradient.
TEST(Prune, TakesTheNextLayersInputsWithTheFilters) {
  const trace::Trace after = pruned("a");
  EXPECT_EQ(bytes(after), (std::vector<std::int64_t>{1500, 6000, 1000, 3000, 4000, 4000, 3000, 6000}));
  EXPECT_EQ(durations(after), (std::vector<std::int64_t>{750, 750, 750, 750}));
}

// Of both: b has 3/4 of the inputs and of the outputs, 9/16 of the arithmetic.
TEST(Prune, ScalesAConvolutionBetweenTwoByBoth) {
  const trace::Trace after = pruned("");
  EXPECT_EQ(bytes(after), (std::vector<std::int64_t>{1500, 4500, 1000, 3000, 3000, 3000, 3000, 4500}));
  EXPECT_EQ(durations(after), (std::vector<std::int64_t>{750, 563, 563, 563}));
  EXPECT_DOUBLE_EQ(records_of<Kernel>(after)[1].flops, 562'500);
}

TEST(Prune, LeavesTheExceptions) {
  EXPECT_EQ(durations(pruned("", "b c")), (std::vector<std::int64_t>{750, 750, 750, 750}));
  EXPECT_THAT([] { pruned("", "a b"); }, ThrowsMessage<UserError>(HasSubstr("prune selects nothing")));
}

// A residual network keeps its sums; depthwise convolutions have as many outputs as inputs.
TEST(Prune, LeavesAValidTrace) {
  for (const char* network : {"resnet_cifar", "mobilenet_v1", "googlenet"})
    applied("prune", generate(network, R"({"batch": 2})", 2));
}

// 4000 B of weights, which become 1000, and 4000 B of inputs: 5/8 of the time where memory binds.
TEST(Quantize, MakesKernelsFasterThatMemoryBinds) {
  TraceBuilder t{trace::Header{}};
  const trace::TensorId w = t.allocate(Bytes{4000}, TensorKind::Param), x = t.allocate(Bytes{4000}, TensorKind::Input);
  t.kernel("gemm", {.duration_ns = 800}, {reads(w), reads(x)});
  const trace::Trace after = applied("quantize", t.take());
  EXPECT_EQ(bytes(after), (std::vector<std::int64_t>{1000, 4000}));
  EXPECT_EQ(durations(after), (std::vector<std::int64_t>{500}));
}

TEST(Quantize, RefusesWhatHasNoFewerBits) {
  TraceBuilder t{trace::Header{}};
  t.kernel("gemm", {.duration_ns = 800}, {reads(t.allocate(Bytes{4000}, TensorKind::Input))});
  EXPECT_THAT([&] { applied("quantize", t.take()); }, ThrowsMessage<UserError>(HasSubstr("quantize selects nothing")));
}

// VGG-16 at batch 64 is bound by arithmetic: between the ratio of the peaks, 15.7 / 19.5, and that of the bandwidths,
// 900 / 1555.
TEST(AnotherGpu, GoesByTheRooflines) {
  const trace::Trace before = generate("vgg16", R"({"batch": 64})", 1);
  const double ratio =
      static_cast<double>(sum(durations(applied("another_gpu", before)))) / static_cast<double>(sum(durations(before)));
  EXPECT_GT(ratio, 900.0 / 1555);
  EXPECT_LT(ratio, 15.7 / 19.5 + 0.005);
}

TEST(AnotherGpu, AsksForTheGpuThatDurationsAreOf) {
  EXPECT_THAT([] { applied("another_gpu", small_net().take()); },
              ThrowsMessage<UserError>(HasSubstr("does not say which GPU")));
}

// Two convolutions of 710 ns that read x, of 6000 B, and weights of 100 B, and write 1000 B each, with a ReLU of the
// first one's result in between. Both together move 2 * 7100 B, and 8200 B where x is read once: 1420 ns * 8200 /
// 14200. Backward: x's gradient is a sum, to which each adds 6000 B. Of the data gradients, 2 * 7100 B become 8200 B
// and one addition goes; the weights' gradients read x once.
trace::Trace two_branches(std::int64_t second_output = 1000) {
  TraceBuilder t{trace::Header{}};
  const auto make = [&t](std::int64_t bytes, TensorKind kind) { return t.allocate(Bytes{bytes}, kind); };
  const trace::TensorId x = make(6000, TensorKind::Activation), dx = make(6000, TensorKind::Gradient);
  const std::int64_t outputs[] = {1000, second_output};
  std::vector<trace::TensorId> w, y;
  for (int b = 0; b < 2; ++b) w.push_back(make(100, TensorKind::Param));
  t.iteration(0);
  t.phase("forward");
  t.kernel("copy", {.duration_ns = 1}, {writes(x)});
  for (const std::size_t b : {0u, 1u}) {
    y.push_back(make(outputs[b], TensorKind::Activation));
    t.kernel("conv2d_k1_fwd", {.duration_ns = 710}, {reads(x), reads(w[b]), writes(y[b])});
    t.kernel("relu_", {.duration_ns = 2}, {updates(y[b])});
  }
  t.phase("backward");
  t.kernel("maxpool_bwd", {.duration_ns = 3}, {writes(dx)});
  for (const std::size_t b : {1u, 0u}) {
    const trace::TensorId dy = make(outputs[b], TensorKind::Gradient);
    t.kernel("relu_bwd", {.duration_ns = 4}, {reads(y[b]), writes(dy)});
    t.free(y[b]);
    const trace::TensorId term = make(6000, TensorKind::Gradient);
    t.kernel("conv2d_k1_dgrad", {.duration_ns = 1420}, {reads(dy), reads(w[b]), writes(term)});
    const trace::TensorId dw = make(100, TensorKind::WeightGradient);
    t.kernel("conv2d_k1_wgrad", {.duration_ns = 2130}, {reads(x), reads(dy), writes(dw)});
    t.free(dy);
    t.kernel("grad_add_", {.duration_ns = 500}, {updates(dx), reads(term)});
    t.free(term);
  }
  t.free(x);
  return t.take();
}

TEST(Metaflow, FusesParallelConvolutionsAndTheirGradients) {
  EXPECT_EQ(durations(applied("metaflow", two_branches())),
            (std::vector<std::int64_t>{1, 820, 2, 2, 3, 4, 4, 1640, 2460, 500}));
}

TEST(Metaflow, ReadsTheInputOnceAndWritesAllResults) {
  const trace::Trace after = applied("metaflow", two_branches());
  const Kernel fused = records_of<Kernel>(after)[1];
  std::map<Mode, int> operands;
  for (std::uint32_t i = 0; i < fused.accesses.count; ++i) ++operands[after.accesses[fused.accesses.first + i].mode];
  EXPECT_EQ(operands, (std::map<Mode, int>{{Mode::Read, 1 + 2}, {Mode::Write, 2}}));
}

// 1420 ns, 2840 ns and 4260 ns, times 0.6.
TEST(Metaflow, TakesAMeasuredRatio) {
  const auto transform = transforms().find("metaflow")->make();
  parameter<double>(*transform, "ratio") = 0.6;
  EXPECT_EQ(durations(transform->apply(two_branches())),
            (std::vector<std::int64_t>{1, 852, 2, 2, 3, 4, 4, 1704, 2556, 500}));
}

// 1x1 with a weight of 100 B moves 7100 B in 710 ns, 3x3 with one of 900 B 7900 B in 790 ns. Both as 3x3: x once, twice
// 900 B and 1000 B. 1500 ns * 9800 / 15,000.
TEST(Metaflow, EnlargesTheSmallerConvolution) {
  TraceBuilder t{trace::Header{}};
  const trace::TensorId x = t.allocate(Bytes{6000}, TensorKind::Activation);
  std::map<int, trace::TensorId> w;
  for (const int size : {1, 3}) w[size] = t.allocate(Bytes{100 * size * size}, TensorKind::Param);
  t.phase("forward");
  for (const int size : {1, 3}) {
    const trace::TensorId y = t.allocate(Bytes{1000}, TensorKind::Activation);
    t.kernel("conv2d_k" + std::to_string(size) + "_fwd",
             {.duration_ns = size == 1 ? 710 : 790, .flops = 10.0 * size * size},
             {reads(x), reads(w[size]), writes(y)});
  }
  const trace::Trace before = t.take();
  EXPECT_THROW(applied("metaflow", before), UserError);
  const auto transform = transforms().find("metaflow")->make();
  parameter<bool>(*transform, "enlarge") = true;
  const trace::Trace after = transform->apply(before);
  EXPECT_EQ(durations(after), (std::vector<std::int64_t>{980}));
  EXPECT_EQ(records_of<Kernel>(after).front().flops, 2 * 90);
}

// A quarter of the image for the same weight: strides differ.
TEST(Metaflow, LeavesWhatHasAnotherShape) {
  EXPECT_THAT([] { applied("metaflow", two_branches(250)); },
              ThrowsMessage<UserError>(HasSubstr("no two products of the same shape and name")));
}

TEST(Metaflow, SaysWhatElseSubstitutesWhereOperandsAreNotKnown) {
  EXPECT_THAT([] { applied("metaflow", small_net().take()); },
              ThrowsMessage<UserError>(HasSubstr("no two products of the same shape and name")));
  TraceBuilder t{trace::Header{}};
  t.kernel("volta_sgemm_64x64_nn", {.duration_ns = 600}, {});
  EXPECT_THAT(
      [&] { applied("metaflow", t.take()); },
      ThrowsMessage<UserError>(HasSubstr("scale_kernels and remove_kernels substitute kernels by their names")));
}

// The second convolution reads what the ReLU between the two made of x.
TEST(Metaflow, LeavesWhatCannotRunSooner) {
  TraceBuilder t{trace::Header{}};
  const trace::TensorId x = t.allocate(Bytes{6000}, TensorKind::Activation);
  t.phase("forward");
  for (int b = 0; b < 2; ++b) {
    const trace::TensorId w = t.allocate(Bytes{100}, TensorKind::Param);
    const trace::TensorId y = t.allocate(Bytes{1000}, TensorKind::Activation);
    t.kernel("conv2d_k1_fwd", {.duration_ns = 710}, {reads(x), reads(w), writes(y)});
    t.kernel("relu_", {.duration_ns = 2}, {updates(x)});
  }
  EXPECT_THROW(applied("metaflow", t.take()), UserError);
}

// Each of GoogLeNet's nine blocks has three convolutions of 1x1 that read its input. Of the three data gradients two
// go, with their additions, and so do two of the three weight gradients.
TEST(Metaflow, FusesTheBranchesOfGoogLeNet) {
  const trace::Trace before = generate("googlenet", R"({"batch": 2})", 1), after = applied("metaflow", before);
  std::map<std::string, int> gone;
  for (const Kernel& kernel : records_of<Kernel>(before)) ++gone[before.strings[static_cast<std::size_t>(kernel.name)]];
  for (const Kernel& kernel : records_of<Kernel>(after)) --gone[after.strings[static_cast<std::size_t>(kernel.name)]];
  std::erase_if(gone, [](const auto& of) { return of.second == 0; });
  EXPECT_EQ(
      gone,
      (std::map<std::string, int>{
          {"conv2d_k1_fwd", 9 * 2}, {"conv2d_k1_dgrad", 9 * 2}, {"conv2d_k1_wgrad", 9 * 2}, {"grad_add_", 9 * 2}}));
}

TEST(Metaflow, LeavesAValidTrace) {
  for (const char* network : {"inception_v4", "bert_base", "resnet50"})
    applied("metaflow", generate(network, R"({"batch": 2})", 2));
}

// All gradients of AlexNet are summed once an iteration; a 270th of them, once compressed.
TEST(Ddp, SumsAllGradientsAndCompressionMakesThemFewer) {
  const auto summed = [](const trace::Trace& trace) {
    std::int64_t bytes = 0;
    for (const trace::CollectiveOp& op : records_of<trace::CollectiveOp>(trace)) bytes += op.bytes;
    return bytes;
  };
  const trace::Trace parallel = applied("ddp", generate("alexnet", "{}", 1));
  EXPECT_EQ(summed(parallel), 61'100'840 * 4);
  const trace::Trace compressed = applied("gradient_compression", parallel);
  EXPECT_NEAR(static_cast<double>(summed(compressed)), 61'100'840 * 4 / 270.0, 16);
  EXPECT_EQ(records_of<Kernel>(compressed).size(),
            records_of<Kernel>(parallel).size() + 2 * records_of<trace::CollectiveOp>(parallel).size());
  EXPECT_THAT([&] { applied("ddp", parallel); }, ThrowsMessage<UserError>(HasSubstr("has collectives already")));
}

// Of the kernels 0, 1 and 2 the first and the last go, and one comes before the second.
TEST(Edit, RemovesAndInserts) {
  TraceBuilder t{trace::Header{}};
  for (const int k : {0, 1, 2}) t.kernel("k", {.duration_ns = k}, {});
  trace::Trace trace = t.take();
  insert(trace, {{1, Kernel{.duration_ns = 7}}});
  EXPECT_EQ(durations(trace), (std::vector<std::int64_t>{0, 7, 1, 2}));
  remove(trace, {3, 0});
  EXPECT_EQ(durations(trace), (std::vector<std::int64_t>{7, 1}));
}

// Of the kernels 0 to 3 the last comes before 1, and 0 before where 3 was.
TEST(Edit, MovesRecordsAndSaysWhereTheyAre) {
  TraceBuilder t{trace::Header{}};
  for (const int k : {0, 1, 2, 3}) t.kernel("k", {.duration_ns = k}, {});
  trace::Trace trace = t.take();
  EXPECT_EQ(move(trace, {{0, 3}, {3, 1}}), (std::vector<std::size_t>{3, 1, 2, 0}));
  EXPECT_EQ(durations(trace), (std::vector<std::int64_t>{3, 1, 2, 0}));
}

}  // namespace
}  // namespace uvmsim
