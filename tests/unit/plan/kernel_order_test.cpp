// One iteration of five kernels on one stream. a writes x, b reads x, c reads x and writes y, then a copy of y, d
// updates x, e reads y: b and c need a, d needs what read x, and nothing passes the copy.
#include "plan/kernel_order.h"

#include <gmock/gmock.h>

#include "workload/trace_builder.h"

namespace uvmsim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

IterationGraph graph_of(const trace::Trace& trace) {
  return {trace, DeviceOrdinal{}, iterations_of(trace, DeviceOrdinal{}).front()};
}

trace::Trace five_kernels(std::int32_t stream_of_last = 0) {
  TraceBuilder t({});
  const trace::TensorId x = t.allocate(Bytes{1024}, TensorKind::Param), y = t.allocate(Bytes{512}, TensorKind::Param);
  t.iteration(0);
  t.kernel("a", {}, {writes(x)});
  t.kernel("b", {}, {reads(x)});
  t.kernel("c", {}, {reads(x), writes(y)});
  t.copy({.direction = trace::CopyDirection::DeviceToHost, .bytes = 512}, {reads(y)});
  t.kernel("d", {}, {updates(x)});
  t.kernel("e", {.stream = stream_of_last}, {reads(y)});
  return t.take();
}

TEST(KernelOrder, NeedsWhatWritesAndWhatStillReads) {
  const KernelOrder order(graph_of(five_kernels()));
  EXPECT_THAT(order.needed_by(0), IsEmpty());
  EXPECT_THAT(order.needed_by(1), ElementsAre(0));
  EXPECT_THAT(order.needed_by(2), ElementsAre(0));
  EXPECT_THAT(order.needed_by(3), ElementsAre(0, 1, 2));
  EXPECT_THAT(order.needed_by(4), ElementsAre(2));
}

TEST(KernelOrder, TakesOrdersThatKeepTheContentsAndSaysWhyNot) {
  const KernelOrder order(graph_of(five_kernels()));
  EXPECT_EQ(order.fault_of(std::vector<std::int32_t>{0, 2, 1, 4, 3}), "");
  EXPECT_THAT(order.fault_of(std::vector<std::int32_t>{1, 0, 2, 3, 4}), HasSubstr("needs that kernel 0 runs before"));
  EXPECT_THAT(order.fault_of(std::vector<std::int32_t>{0, 2, 4, 1, 3}), HasSubstr("pass a copy"));
  EXPECT_THAT(order.fault_of(std::vector<std::int32_t>{0, 1, 2, 3}), HasSubstr("each of the 5 kernels once"));
  EXPECT_THAT(order.fault_of(std::vector<std::int32_t>{0, 1, 1, 3, 4}), HasSubstr("kernel 1 is listed twice"));
  EXPECT_THAT(order.fault_of(std::vector<std::int32_t>{0, 1, 2, 3, 5}), HasSubstr("5 is no kernel"));
}

// The smallest first, as far as it may: c before b, e before d; never d or e before the copy.
TEST(KernelOrder, FollowsPrioritiesAsFarAsItMay) {
  const KernelOrder order(graph_of(five_kernels()));
  EXPECT_THAT(order.by_priority(std::vector<double>{4, 3, 2, 1, 0}), ElementsAre(0, 2, 1, 4, 3));
  EXPECT_THAT(order.by_priority(std::vector<double>{0, 0, 0, 0, 0}), ElementsAre(0, 1, 2, 3, 4));
}

TEST(KernelOrder, KeepsProgramsOfSeveralStreamsAsTheyAre) {
  const KernelOrder order(graph_of(five_kernels(1)));
  EXPECT_FALSE(order.is_free());
  EXPECT_THAT(order.by_priority(std::vector<double>{4, 3, 2, 1, 0}), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(order.fault_of(std::vector<std::int32_t>{0, 2, 1, 3, 4}), HasSubstr("several streams"));
}

}  // namespace
}  // namespace uvmsim
