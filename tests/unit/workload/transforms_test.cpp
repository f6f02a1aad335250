#include <gtest/gtest.h>

#include "base/user_error.h"
#include "workload/trace_builder.h"
#include "workload/transform.h"

namespace uvmsim {
namespace {

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

}  // namespace
}  // namespace uvmsim
