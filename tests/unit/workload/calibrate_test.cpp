#include "workload/calibrate.h"

#include <gtest/gtest.h>

#include "base/user_error.h"
#include "support/generate.h"
#include "workload/trace_builder.h"

namespace uvmsim {
namespace {

trace::Trace with_kernels(const std::vector<std::vector<std::int64_t>>& iterations) {
  TraceBuilder t{{}};
  t.header().durations = "made up";
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    t.iteration(static_cast<int>(i));
    for (const std::int64_t ns : iterations[i]) {
      trace::Kernel kernel;
      kernel.duration_ns = ns;
      t.kernel("k", kernel, {});
    }
  }
  return t.take();
}

std::vector<std::int64_t> durations(const trace::Trace& t) {
  std::vector<std::int64_t> ns;
  for (const trace::Kernel& kernel : records_of<trace::Kernel>(t)) ns.push_back(kernel.duration_ns);
  return ns;
}

// The last iteration takes 30 ns and shall take 100: times 10/3. Its ends are 10, 20, 30 ns, hence 33.3, 66.7,
// 100 rounded to 33, 67, 100. The first iteration's only kernel, 9 ns, becomes 30.
TEST(ScaleDurations, CarriesTheRoundingFromKernelToKernel) {
  trace::Trace t = with_kernels({{9}, {10, 10, 10}});
  scale_durations(t, nanoseconds(100));
  EXPECT_EQ(durations(t), (std::vector<std::int64_t>{30, 33, 34, 33}));
  EXPECT_EQ(t.header.durations, "made up rescaled x3.333 to 1e-07 s");
  EXPECT_EQ(t.header.durations_status, "scaled");
}

// 44.3 samples/s at batch 48: 1.083521445 s over 25,716 kernels.
TEST(ScaleDurations, SteadyIterationTakesExactlyTheTimeGiven) {
  trace::Trace t = generate("resnet1001", R"({"batch": 48})", 2);
  scale_durations(t, nanoseconds(1'083'521'445));
  std::int64_t sum = 0;
  for (const trace::Record& record : t.records) {
    if (std::holds_alternative<trace::Iteration>(record)) sum = 0;
    if (const auto* kernel = std::get_if<trace::Kernel>(&record)) sum += kernel->duration_ns;
  }
  EXPECT_EQ(sum, 1'083'521'445);
}

TEST(ScaleDurations, RefusesATraceWithoutKernelTime) {
  trace::Trace t = with_kernels({{9}, {}});
  EXPECT_THROW(scale_durations(t, nanoseconds(100)), UserError);
  trace::Trace timed = with_kernels({{9}});
  EXPECT_THROW(scale_durations(timed, Duration{999}), UserError);
}

}  // namespace
}  // namespace uvmsim
