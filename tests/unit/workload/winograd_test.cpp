#include "workload/winograd.h"

#include <gtest/gtest.h>

#include "workload/trace_builder.h"

namespace uvmsim {
namespace {

// Maps of 1600 B in and 3200 B out, a weight of 900 B.
trace::Trace convolution(const char* name, std::int64_t in, std::int64_t out) {
  TraceBuilder t{{}};
  const trace::TensorId x = t.allocate(Bytes{in}, TensorKind::Activation);
  const trace::TensorId w = t.allocate(Bytes{900}, TensorKind::Param);
  const trace::TensorId y = t.allocate(Bytes{out}, TensorKind::Activation);
  t.kernel(name, {.duration_ns = 1000}, {reads(x), reads(w), writes(y)});
  return t.take();
}

// 36/16 x (1600 + 3200) + 36/9 x 900 = 10800 + 3600.
TEST(Winograd, AWorkspaceHoldsTheTransformedMapsAndWeights) {
  trace::Trace trace = convolution("conv2d_k3_fwd", 1600, 3200);
  EXPECT_EQ(add_winograd_variants(trace), 1u);
  ASSERT_EQ(trace.variants.size(), 1u);
  EXPECT_EQ(trace.variants[0], (trace::LaunchVariants{{.duration_ns = 1000, .workspace = 14'400}}));
  EXPECT_EQ(std::get<trace::Kernel>(trace.records.back()).variants, 0);
  EXPECT_EQ(std::get<trace::Kernel>(trace.records.back()).duration_ns, 1210) << "without one: 1.21 times as long";
}

// The gradient of a map is as large as the map: backward it is the read one that strides make smaller.
TEST(Winograd, OnlyMapsThatDoNotShrinkAndKernelsOfThree) {
  for (const auto& [name, in, out] :
       {std::tuple("conv2d_k3_fwd", 3200, 1600), std::tuple("conv2d_k3_dgrad", 1600, 3200),
        std::tuple("conv2d_k1_fwd", 1600, 3200), std::tuple("conv2d_k3_wgrad", 1600, 3200)}) {
    trace::Trace trace = convolution(name, in, out);
    EXPECT_EQ(add_winograd_variants(trace), 0u) << name;
    EXPECT_TRUE(trace.variants.empty());
  }
}

}  // namespace
}  // namespace uvmsim
