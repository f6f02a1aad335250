// Prefetches of a trace as hooks of PyTorch's modules.
#include "study/torch_hooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

#include "base/user_error.h"
#include "support/call_trace.h"

namespace uvmsim {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string hooks_of(const trace::Trace& trace) {
  std::ostringstream out;
  write_torch_hooks(trace, out);
  return out.str();
}

// Tensors: 1 weights, 2 input, 3 output, 4 gradient of the output. Layer conv1 in the forward and the backward pass,
// then the optimizer, of no layer.
trace::Trace training() {
  TraceBuilder t = call_trace();
  for (const TensorKind kind : {TensorKind::Param, TensorKind::Input, TensorKind::Activation, TensorKind::Gradient})
    t.allocate(Bytes{8 * kMiB}, kind);
  t.phase("forward");
  t.layer(t.string("conv1"));
  t.kernel("conv_fwd", kernel_on(), {reads(1), reads(2), writes(3)});
  t.phase("backward");
  t.kernel("conv_bwd", kernel_on(), {reads(1), reads(4)});
  t.phase("optimizer");
  t.layer(t.string(""));
  t.kernel("sgd", kernel_on(), {reads(1), writes(1)});
  return t.take();
}

trace::Trace with_prefetches(const std::string& parameters) {
  const trace::Trace trace = training();
  return insert_calls(trace, call_policy("operand_prefetch", parameters)->calls(trace, setting_of()));
}

// Of the six prefetches the output is only written, and the optimizer's is of no module.
TEST(TorchHooks, NameTheTensorsThatModulesHave) {
  const std::string python = hooks_of(with_prefetches("{}"));
  EXPECT_THAT(python, HasSubstr("FORWARD = {\n    \"conv1\": (\"inputs\",\"parameters\",),\n}\n"));
  EXPECT_THAT(python, HasSubstr("BACKWARD = {\n    \"conv1\": (\"grad_outputs\",\"parameters\",),\n}\n"));
  EXPECT_THAT(python, HasSubstr("Left out: 1 of what a kernel only writes, 1 before kernels of no module."));
}

TEST(TorchHooks, FollowTheChoiceOfKernels) {
  const std::string python = hooks_of(with_prefetches(R"({"kernels": "conv_fwd"})"));
  EXPECT_THAT(python, HasSubstr("FORWARD = {\n    \"conv1\""));
  EXPECT_THAT(python, HasSubstr("BACKWARD = {\n}\n"));
}

TEST(TorchHooks, AreRefusedWhereNoneIsLeft) {
  EXPECT_THROW(hooks_of(training()), UserError);
  EXPECT_THROW(hooks_of(with_prefetches(R"({"kernels": "optimizer"})")), UserError);
}

}  // namespace
}  // namespace uvmsim
