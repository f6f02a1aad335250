#include <gtest/gtest.h>

#include "support/generate.h"

namespace uvmsim {
namespace {

using trace::Mode;

// Explicit arrays are copied, not written by the host; advice names both temp and temp_out, and the host is -1.
TEST(HotspotAdvised, PlacesEachArrayAsTold) {
  const trace::Trace t = generate("hotspot_advised", R"({"n": 24, "temp": "preferred_cpu", "power": "explicit"})", 1);
  EXPECT_EQ(records_of<trace::HostStep>(t).size(), 1u);
  const auto copies = records_of<trace::Copy>(t);
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].bytes, 24 * 24 * 4);
  const auto advice = records_of<trace::Advise>(t);
  ASSERT_EQ(advice.size(), 2u);
  for (const trace::Advise& call : advice) {
    EXPECT_EQ(call.advice, static_cast<std::int8_t>(trace::Advice::PreferredLocation));
    EXPECT_EQ(call.device, -1);
  }
  EXPECT_NE(advice[0].tensor, advice[1].tensor);
}

// What the host writes then is mapped on the GPU as it comes.
TEST(RepeatedRead, IsAdvisedBeforeTheHostWrites) {
  const trace::Trace t = generate("repeated_read", R"({"advice": "accessed_by_gpu"})", 1);
  const auto order = [&](auto kind) {
    return std::ranges::find_if(t.records,
                                [&](const trace::Record& r) { return std::holds_alternative<decltype(kind)>(r); });
  };
  EXPECT_LT(order(trace::Advise{}), order(trace::HostStep{}));
  EXPECT_EQ(records_of<trace::Advise>(t).at(0).advice, static_cast<std::int8_t>(trace::Advice::AccessedBy));
  EXPECT_TRUE(records_of<trace::Advise>(generate("repeated_read", "{}", 1)).empty());
}

// A CTA of 16 x 16 threads with a border of 2 writes 12 x 12 elements: 24 / 12 = 2 of them along each side.
TEST(HotspotAdvised, TilesOverlapByTheBorder) {
  const trace::Kernel step = records_of<trace::Kernel>(generate("hotspot_advised", R"({"n": 24})", 1)).at(0);
  EXPECT_EQ(step.grid, 4);
  EXPECT_EQ(step.block, 256);
}

// 1 MiB is 256 pages, one per thread: 4 CTAs of 64 threads.
TEST(PageRead, GivesEveryThreadAPageOfItsOwn) {
  const trace::Kernel read = records_of<trace::Kernel>(generate("page_read", "{}", 1)).at(0);
  EXPECT_EQ(read.grid, 4);
  EXPECT_EQ(read.block, 64);
}

// Input written by the host and, for a resident one, again by a kernel; the output by nobody before the ReLU.
TEST(Relu, LeavesItsOutputUntouched) {
  for (const std::size_t fills : {0u, 1u}) {
    const trace::Trace t = generate("relu", fills == 0 ? R"({"input": "host"})" : R"({"input": "gpu"})", 1);
    EXPECT_EQ(records_of<trace::Kernel>(t).size(), fills + 1);
    for (const trace::Access& access : t.accesses) EXPECT_TRUE(access.tensor != 2 || access.mode == Mode::Write);
    EXPECT_EQ(records_of<trace::HostStep>(t).size(), 1u);
  }
}

// C stays untouched by the host when told so: it writes A and B only.
TEST(Sgemm, OutputMayBeFirstTouchedByTheGpu) {
  EXPECT_EQ(records_of<trace::HostStep>(generate("sgemm", "{}", 1)).size(), 3u);
  EXPECT_EQ(records_of<trace::HostStep>(generate("sgemm", R"({"output_init": false})", 1)).size(), 2u);
}

}  // namespace
}  // namespace uvmsim
