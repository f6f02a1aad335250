// Random small networks, on one stream or two, run under plans, on explicit memory, as they are or as plans want them
// (sub-batches, another order): they complete whenever their largest kernel fits, take no less than their kernels, and
// are the same every time.
#include <algorithm>
#include <gtest/gtest.h>

#include "engine/run.h"
#include "plan/planner.h"
#include "report/json.h"
#include "study/child_process.h"
#include "support/one_gpu.h"
#include "support/random_net.h"
#include "support/rewriting_services.h"
#include "support/under_plans.h"

namespace uvmsim {
namespace {

class Services final : public RewritingServices {
 public:
  using RewritingServices::RewritingServices;
  std::vector<Evaluation> evaluate(std::span<const std::vector<Plan>> sets) override {
    return std::vector<Evaluation>(sets.size(), {.outcome = "completed", .time = Duration{1}});
  }
};

Result run_apart(const trace::Trace& net, const std::vector<Plan>& plans, Bytes memory) {
  ChildProcess child([&] {
    const Program program = under_plans(net, plans);
    const Process process{&program, {GpuIndex{0}}, true};
    return to_json(run(one_gpu(memory, BytesPerSecond{12'000'000'000}), {&process, 1}, {.warmup = 1, .progress = {}}));
  });
  return result_from_json(child.wait()).value_or(Result{});
}

TEST(PlannedRun, CompletesWheneverTheLargestKernelFits) {
  int split = 0, ordered = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const trace::Trace net = random_net(seed, seed % 2 == 0);
    Services services(net);
    const BytesPerSecond rate{12'000'000'000};
    Profile profile =
        profile_iterations(net, DeviceOrdinal{0}, GpuIndex{0}, {.launch = {}, .links = {rate, rate, {}}}).back();
    Duration kernels{};
    for (const GraphKernel& k : profile.graph->kernels) kernels += k.duration;
    const Bytes enough{profile.peak()};
    const std::string alone = "seed " + std::to_string(seed) + ", nothing moves";
    EXPECT_NEAR(run_apart(net, {}, enough).duration_s, seconds(profile.length), 2e-6) << alone;
    const std::int64_t floor = std::ranges::max(profile.floor());
    for (const std::int64_t memory : {floor, (floor + profile.peak()) / 2, profile.peak()}) {
      profile.budget = Bytes{memory};
      for (const std::string& name : planners().names()) {
        const std::vector<Plan> plans = planners().find(name)->make()->plan({&profile, 1}, services);
        split += plans[0].sub_batches > 1;
        ordered += !plans[0].order.empty();
        const trace::Trace program = rewritten(net, plans, nullptr);
        const Result result = run_apart(program, plans, profile.budget);
        const std::string at = name + ", seed " + std::to_string(seed) + ", " + std::to_string(memory) + " B";
        ASSERT_EQ(result.outcome, Outcome::Completed) << at << ": " << result.detail;
        EXPECT_GE(result.duration_s, seconds(kernels) - 2e-6) << at;
        if (seed <= 2) {
          EXPECT_EQ(run_apart(program, plans, profile.budget).history_hash, result.history_hash) << at;
        }
      }
    }
  }
  EXPECT_GT(split, 0);
  EXPECT_GT(ordered, 0);
}

}  // namespace
}  // namespace uvmsim
