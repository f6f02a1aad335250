// All-reduces in buckets run beside the kernels of the backward pass.
#include <gtest/gtest.h>

#include "support/simulated.h"
#include "workload/sync_gradients.h"
#include "workload/trace_builder.h"

namespace uvmsim {
namespace {

using namespace testing_support;

// Two layers of 10 ms, whose gradients are 100 MB each, and 1 ms of optimizer, all in device memory.
trace::Trace two_layers() {
  TraceBuilder b(trace::Header{});
  b.header().devices.resize(1);
  constexpr int kDevice = static_cast<int>(trace::Space::Device);
  const trace::TensorId last = b.allocate(Bytes{100'000'000}, TensorKind::WeightGradient, kDevice);
  const trace::TensorId first = b.allocate(Bytes{100'000'000}, TensorKind::WeightGradient, kDevice);
  for (int i = 0; i < 2; ++i) {
    b.iteration(i);
    b.phase("backward");
    b.kernel("last", {.duration_ns = 10'000'000}, {writes(last)});
    b.kernel("first", {.duration_ns = 10'000'000}, {writes(first)});
    b.phase("optimizer");
    b.kernel("step", {.duration_ns = 1'000'000}, {reads(last), reads(first)});
  }
  return b.take();
}

double iteration_s(const std::string& machine, const trace::Trace& trace) {
  ChildProcess child([&] {
    const Experiment e = experiment_of(R"({"machine": )" + machine + R"(, "workload": {"generator": "vector_add"}})");
    const Program program = place(trace, e.workload.placement);
    std::vector<Process> processes;
    for (int gpu = 0; gpu < 2; ++gpu) processes.push_back({&program, {GpuIndex{gpu}}});
    return to_json(run(e.machine, processes, {.warmup = 1, .progress = {}}));
  });
  return result_from_json(child.wait()).value().duration_s;
}

class GradientOverlap : public testing::TestWithParam<const char*> {};

// Let C be the time of one all-reduce of 100 MB. At the end of the iteration, that of 200 MB costs 2 C. In buckets, the
// first one runs beside the second kernel, if C is less than its 10 ms, and only the second one costs C.
TEST_P(GradientOverlap, HidesTheBucketThatRunsBesideAKernel) {
  const double alone = iteration_s(GetParam(), two_layers());
  const double at_the_end = iteration_s(GetParam(), sync_gradients(two_layers()));
  const double in_buckets = iteration_s(GetParam(), sync_gradients(two_layers(), {.bucket = Bytes{100'000'000}}));
  EXPECT_NEAR(alone, 0.021, 1e-4);
  const double c = (at_the_end - alone) / 2;
  EXPECT_GT(c, 0.001);
  EXPECT_LT(c, 0.010);
  EXPECT_NEAR(in_buckets, alone + c, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(NvlinkAndPcie, GradientOverlap,
                         testing::Values(R"({"extends": "machines/dgx1_v100_32gb.json", "gpus": 2})",
                                         R"({"extends": "machines/v100_sxm2_32gb.json", "gpus": 2, "links": [
    {"extends": "machines/links/ddr4_2400_x4.json", "name": "memory0", "from": "memory0", "to": "socket0"},
    {"extends": "machines/links/pcie3_x16.json", "name": "pcie0", "from": "socket0", "to": "gpu0"},
    {"extends": "machines/links/pcie3_x16.json", "name": "pcie1", "from": "socket0", "to": "gpu1"}]})"));

}  // namespace
}  // namespace uvmsim
