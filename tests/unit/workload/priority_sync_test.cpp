// A chain of two linear layers: weights of 400 and 600 bytes are used in this order by the forward pass, and their
// gradients are ready in the other one.
#include "workload/priority_sync.h"

#include <gmock/gmock.h>

#include "base/user_error.h"
#include "support/generate.h"
#include "trace/checker.h"
#include "trace/communicators.h"
#include "workload/trace_builder.h"
#include "workload/transform.h"

namespace uvmsim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::ThrowsMessage;

trace::Trace two_layers(bool with_step = true) {
  TraceBuilder t(trace::Header{});
  t.header().devices.resize(1);
  const trace::TensorId weights[] = {t.allocate(Bytes{400}, TensorKind::Param),
                                     t.allocate(Bytes{600}, TensorKind::Param)};
  const trace::TensorId moments[] = {t.allocate(Bytes{400}, TensorKind::Optimizer),
                                     t.allocate(Bytes{600}, TensorKind::Optimizer)};
  for (int i = 0; i < 2; ++i) {
    t.iteration(i);
    t.phase("forward");
    for (const trace::TensorId w : weights) t.kernel("gemm_fwd", {.duration_ns = 10}, {reads(w)});
    t.phase("backward");
    trace::TensorId gradients[2] = {};
    for (const std::size_t layer : {1u, 0u}) {
      gradients[layer] = t.allocate(Bytes{layer == 0 ? 400 : 600}, TensorKind::WeightGradient);
      t.kernel("gemm_wgrad", {.duration_ns = 20}, {reads(weights[layer]), writes(gradients[layer])});
    }
    if (!with_step) continue;
    t.phase("optimizer");
    for (const std::size_t layer : {0u, 1u}) {
      t.kernel("sgd_buf_add_", {.duration_ns = 5}, {updates(moments[layer]), reads(gradients[layer])});
      t.kernel("sgd_p_add_", {.duration_ns = 5}, {updates(weights[layer]), reads(moments[layer])});
    }
    for (const trace::TensorId g : gradients) t.free(g);
  }
  return t.take();
}

std::vector<std::pair<std::int64_t, std::int32_t>> slices(const trace::Trace& trace) {
  std::vector<std::pair<std::int64_t, std::int32_t>> found;
  for (const trace::CollectiveOp& op : records_of<trace::CollectiveOp>(trace))
    found.emplace_back(op.bytes, op.priority);
  return found;
}

// 600 bytes are ready first and go in slices of 250, 250 and 100; what the forward pass uses first has priority 0.
TEST(PrioritySync, SlicesGoByTheOrderInWhichTheForwardPassUsesThem) {
  const trace::Trace after = sync_by_priority(two_layers(), {.slice = Bytes{250}}, "p3");
  EXPECT_TRUE(check_trace(after).empty());
  EXPECT_TRUE(trace::collective_errors(after, 2).empty());
  EXPECT_THAT(slices(after), ElementsAre(Pair(250, 1), Pair(250, 1), Pair(100, 1), Pair(250, 0), Pair(150, 0),
                                         Pair(250, 1), Pair(250, 1), Pair(100, 1), Pair(250, 0), Pair(150, 0)));
  EXPECT_THAT(slices(sync_by_priority(two_layers(), {.slice = Bytes{600}, .prioritised = false}, "p3")),
              ElementsAre(Pair(600, 0), Pair(400, 1), Pair(600, 0), Pair(400, 1)));
}

// The servers take the steps. In the second iteration, each of the two kernels that use a weight first waits for it.
TEST(PrioritySync, KernelsWaitForTheParametersThatTheyUse) {
  const trace::Trace after = sync_by_priority(two_layers(), {.slice = Bytes{1000}}, "p3");
  std::vector<std::string> last;  // the kernels of the last iteration, and what their stream waits for
  for (const trace::Record& record : after.records) {
    if (std::holds_alternative<trace::Iteration>(record)) last.clear();
    if (const auto* wait = std::get_if<trace::EventWait>(&record); wait != nullptr && wait->stream == 0)
      last.push_back("wait " + std::to_string(wait->event));
    if (const auto* kernel = std::get_if<trace::Kernel>(&record))
      last.push_back(after.strings[static_cast<std::size_t>(kernel->name)]);
  }
  EXPECT_THAT(last, ElementsAre("wait 1", "gemm_fwd", "wait 3", "gemm_fwd", "gemm_wgrad", "gemm_wgrad"));
}

TEST(PrioritySync, TakesThePlaceOfAllReduces) {
  const auto summed = [](const trace::Trace& trace) {
    std::int64_t bytes = 0;
    for (const auto& [size, priority] : slices(trace)) bytes += size;
    return bytes;
  };
  const trace::Trace ddp = transforms().find("ddp")->make()->apply(two_layers());
  EXPECT_EQ(summed(ddp), 2 * 1000);
  EXPECT_EQ(summed(sync_by_priority(ddp, {.slice = Bytes{250}}, "p3")), 2 * 1000);
}

TEST(PrioritySync, RefusesAProgramWithoutSteps) {
  EXPECT_THAT([] { sync_by_priority(two_layers(false), {.slice = Bytes{250}}, "p3"); },
              ThrowsMessage<UserError>(HasSubstr("p3 selects nothing")));
}

// A hundredth of 64 KiB.
TEST(Dlcp, MayLoseItsShareOfEachPacket) {
  const trace::Trace after = transforms().find("dlcp")->make()->apply(generate("alexnet", R"({"batch": 1})", 1));
  const auto found = records_of<trace::CollectiveOp>(after);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().bytes, 64 << 10);
  EXPECT_EQ(found.front().droppable, 655);
}

// 1000 bytes of 16 replicas in groups of 8: a reduce-scatter of 1000, an all-reduce of 125 across, an all-gather.
TEST(BlueConnect, DecomposesAlongTheGroups) {
  trace::Trace ddp = transforms().find("ddp")->make()->apply(two_layers());
  const trace::Trace after = transforms().find("blueconnect")->make()->apply(ddp);
  EXPECT_TRUE(check_trace(after).empty());
  EXPECT_TRUE(trace::collective_errors(after, 16).empty());
  EXPECT_THAT(trace::collective_errors(after, 12), testing::Contains(HasSubstr("no groups of 8 ranks")));
  const auto parts = records_of<trace::CollectiveOp>(after);
  ASSERT_EQ(parts.size(), 3u * records_of<trace::CollectiveOp>(ddp).size());
  EXPECT_EQ(parts[0].kind, trace::Collective::ReduceScatter);
  EXPECT_EQ(parts[0].ranks, 8);
  EXPECT_EQ(parts[1].kind, trace::Collective::AllReduce);
  EXPECT_EQ(parts[1].bytes, 125);
  EXPECT_EQ(parts[1].stride, 8);
  EXPECT_EQ(parts[2].kind, trace::Collective::AllGather);
  EXPECT_THAT([] { transforms().find("blueconnect")->make()->apply(two_layers()); },
              ThrowsMessage<UserError>(HasSubstr("no all-reduce of all replicas")));
}

}  // namespace
}  // namespace uvmsim
