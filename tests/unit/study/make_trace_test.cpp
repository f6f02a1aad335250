#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "study/simulate.h"
#include "trace/writer.h"
#include "workload/trace_builder.h"

namespace uvmsim {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

// Two iterations of one 3 us kernel each, of 8 samples, on `devices` GPUs.
trace::Trace two_iterations(std::size_t devices) {
  TraceBuilder builder(trace::Header{});
  builder.header().samples = 8;
  builder.header().devices.resize(devices);
  const trace::TensorId tensor = builder.allocate(Bytes{4096}, TensorKind::Activation);
  for (int i = 0; i < 2; ++i) {
    builder.iteration(i);
    builder.kernel("k", {.duration_ns = 3000}, {updates(tensor)});
  }
  return builder.take();
}

class MakeTrace : public testing::Test {
 protected:
  MakeTrace() {
    experiment_.run = {.warmup = 1, .iterations = 3};
    experiment_.workload.parameters = nullptr;
  }
  ~MakeTrace() override { std::filesystem::remove(path_); }

  void save(const trace::Trace& trace) {
    std::ofstream file(path_, std::ios::binary);
    write_trace(trace, file);
    experiment_.workload.trace = path_;
  }
  static std::vector<std::int64_t> kernel_times(const trace::Trace& trace) {
    std::vector<std::int64_t> times;
    for (const trace::Record& record : trace.records)
      if (const auto* kernel = std::get_if<trace::Kernel>(&record)) times.push_back(kernel->duration_ns);
    return times;
  }

  Experiment experiment_ = read_experiment(UVMSIM_SOURCE_DIR "/configs/vector_add_v100.json");
  std::string path_ = testing::TempDir() + "make_trace_" + std::to_string(getpid()) + ".uvmtrace";
};

TEST_F(MakeTrace, RepeatsAFileToTheIterationsAskedFor) {
  save(two_iterations(1));
  EXPECT_THAT(kernel_times(make_trace(experiment_)), testing::ElementsAre(3000, 3000, 3000, 3000));
}

// 8 samples at 4000 samples/s take 2 ms; launching and synchronising take at most 1 % of it.
TEST_F(MakeTrace, CalibratesToARate) {
  save(two_iterations(1));
  experiment_.workload.in_core.samples_per_second = 4000;
  EXPECT_NEAR(static_cast<double>(kernel_times(make_trace(experiment_)).back()), 2e6, 2e4);
}

TEST_F(MakeTrace, CalibratesToATime) {
  save(two_iterations(1));
  experiment_.workload.in_core.iteration = from_seconds(0.25);
  EXPECT_NEAR(static_cast<double>(kernel_times(make_trace(experiment_)).back()), 25e7, 2e4);
}

// 100 ns are less than a launch takes: no kernel duration gives such an iteration.
TEST_F(MakeTrace, GivesKernelsTheTimeThatLaunchesExceed) {
  save(two_iterations(1));
  experiment_.workload.in_core.iteration = nanoseconds(100);
  EXPECT_EQ(kernel_times(make_trace(experiment_)).back(), 100);
}

TEST_F(MakeTrace, RefusesARateWithoutSamples) {
  trace::Trace trace = two_iterations(1);
  trace.header.samples = 0;
  save(trace);
  experiment_.workload.in_core.samples_per_second = 4000;
  EXPECT_THAT([&] { make_trace(experiment_); }, ThrowsMessage<UserError>(HasSubstr("/workload/calibrate/in_core")));
}

TEST_F(MakeTrace, RefusesMoreDevicesThanTheMachineHas) {
  save(two_iterations(2));
  EXPECT_THAT([&] { make_trace(experiment_); }, ThrowsMessage<UserError>(HasSubstr("runs on 2 devices")));
}

TEST_F(MakeTrace, RefusesReplicasOfSeveralDevices) {
  save(two_iterations(2));
  experiment_.machine.gpus.resize(2, experiment_.machine.gpus[GpuIndex{0}]);
  experiment_.workload.data_parallel = true;
  EXPECT_THAT([&] { make_trace(experiment_); }, ThrowsMessage<UserError>(HasSubstr("/workload/data_parallel")));
}

// Device 1 takes no part in the second all-reduce.
TEST_F(MakeTrace, RefusesCollectivesThatWouldNeverEnd) {
  trace::Trace trace = two_iterations(2);
  for (const std::int8_t device : {std::int8_t{0}, std::int8_t{1}, std::int8_t{0}})
    trace.records.emplace_back(trace::CollectiveOp{.bytes = 8, .device = device});
  save(trace);
  experiment_.machine.gpus.resize(2, experiment_.machine.gpus[GpuIndex{0}]);
  EXPECT_THAT([&] { make_trace(experiment_); },
              ThrowsMessage<UserError>(HasSubstr("/workload/trace: communicator 0: device 0 takes part")));
}

}  // namespace
}  // namespace uvmsim
