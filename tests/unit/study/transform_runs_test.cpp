// What transforms make of programs, run: against the planner that does the same to them, and against each other.
#include <algorithm>
#include <gtest/gtest.h>

#include "support/simulated.h"

namespace uvmsim::testing_support {
namespace {

// `config` may name bundled machines of any folder.
Result run_of(const std::string& config, const std::vector<std::string>& settings) {
  const std::string configs = std::string(UVMSIM_SOURCE_DIR) + "/configs", path = configs + "/test.json";
  const auto load = [&, bundled = beside_or_bundled(path, configs)](const std::string& file) {
    return file == path ? std::optional(config) : bundled(file);
  };
  ChildProcess child([&] { return to_json(run_experiment(read_experiment(path, settings, load))); });
  const auto result = result_from_json(child.wait());
  EXPECT_TRUE(result.has_value());
  EXPECT_EQ(result.value_or(Result{}).outcome, Outcome::Completed) << result.value_or(Result{}).detail;
  return result.value_or(Result{});
}

const std::string kVgg = R"({
  "machine": {"extends": "machines/v100_pcie_16gb.json"},
  "workload": {"generator": "vgg16", "batch": 32, "allocator": "torch_2", "memory": "device", "torch": "2.x"},
  "run": {"warmup": 1, "iterations": 2}})";

// The same copies of the same feature maps: issued by the executor of plans, or by the program.
TEST(TransformRuns, VdnnTakesWhatItsPlannerDoes) {
  for (const std::string mode : {"conv", "all"}) {
    const Result planned = run_of(kVgg, {"plan.planner=vdnn", "plan.mode=" + mode, "plan.algorithms=recorded"});
    const Result program = run_of(kVgg, {R"(workload.transforms=[{"name": "vdnn", "mode": ")" + mode + "\"}]"});
    EXPECT_NEAR(program.duration_s, planned.duration_s, 0.005 * planned.duration_s) << mode;
  }
}

TEST(TransformRuns, GistTakesWhatItsPlannerDoes) {
  const Result planned = run_of(kVgg, {"plan.planner=gist_like"});
  const Result program = run_of(kVgg, {R"(workload.transforms=[{"name": "gist"}])"});
  EXPECT_NEAR(program.duration_s, planned.duration_s, 1e-5 * planned.duration_s);
}

// What is fused is read once and launched once, where memory suffices and under demand paging.
TEST(TransformRuns, ParallelConvolutionsFusedAreFaster) {
  const std::string config = R"({
    "machine": {"extends": "machines/gtx1060_6gb.json"},
    "workload": {"generator": "googlenet", "batch": 32, "allocator": "torch_2", "torch": "2.x"},
    "run": {"warmup": 0, "iterations": 1}})";
  for (const std::string setting : {"workload.memory=device", "workload.memory=managed"}) {
    const double apart = run_of(config, {setting}).duration_s;
    EXPECT_LT(run_of(config, {setting, R"(workload.transforms=[{"name": "metaflow"}])"}).duration_s, apart) << setting;
  }
}

// Four servers with one GPU each. VGG-16's last layers have most of its parameters, which its forward pass needs last:
// first come, first served lets the first layers' wait behind them.
TEST(TransformRuns, SlicesByPriorityAreSoonerThanInTheOrderInWhichTheyAreReady) {
  const std::string config = R"({
    "machine": {"extends": "machines/clusters/v100_x10_ethernet.json", "gpus": 4},
    "workload": {"generator": "vgg16", "batch": 16, "allocator": "torch_2", "memory": "device", "torch": "2.x",
                 "data_parallel": true, "transforms": [{"name": "p3", "slice": "4 MiB"}]},
    "run": {"warmup": 2, "iterations": 2}})";
  const double by_priority = run_of(config, {}).duration_s;
  EXPECT_LT(by_priority, 0.97 * run_of(config, {"workload.transforms.0.priority=false"}).duration_s);
}

// AlexNet's gradients are 61,100,840 x 4 bytes. Two servers of eight GPUs: a ring of 16 leaves each server once, with
// 2 x 15/16 of them; by groups it is eight rings of two, each with 2 x 1/2 of an eighth. Over two iterations.
TEST(TransformRuns, BlueConnectLeavesServersWithFewerBytes) {
  const std::string config = R"({
    "machine": {"extends": "machines/clusters/dgx1_v100_32gb_x8_servers.json", "gpus": 16},
    "workload": {"generator": "alexnet", "batch": 32, "allocator": "torch_2", "memory": "device", "torch": "2.x",
                 "data_parallel": true, "transforms": [{"name": "ddp"}, {"name": "blueconnect"}]},
    "run": {"warmup": 1, "iterations": 2}})";
  const auto sent = [](const Result& r) {
    const auto nic = std::ranges::find(r.links, "nic0 up", &LinkDirectionResult::name);
    EXPECT_NE(nic, r.links.end());
    return nic == r.links.end() ? 0 : static_cast<double>(nic->bytes);
  };
  constexpr double kGradients = 61'100'840 * 4.0;
  const Result groups = run_of(config, {}), ring = run_of(config, {R"(workload.transforms=[{"name": "ddp"}])"});
  EXPECT_NEAR(sent(ring), 2 * 2 * 15.0 / 16 * kGradients, 1000);
  EXPECT_NEAR(sent(groups), 2 * kGradients, 1000);
  EXPECT_LT(groups.duration_s, ring.duration_s);
}

}  // namespace
}  // namespace uvmsim::testing_support
