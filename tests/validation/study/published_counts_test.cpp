// Counts that others published, from whole simulations. Nothing here depends on a cost.
#include <gtest/gtest.h>

#include "support/simulated.h"
#include "support/sizes.h"

namespace uvmsim {
namespace {

using namespace testing_support;

// NVIDIA DLI notebook, nvprof, V100-SXM2-16GB: c = a + b by one thread, three arrays of 128 MiB, initialised and read
// back by the host. Each of the 3 x 64 blocks takes 6 faults (64, 64, 128, 256, 512, 1024 KiB), each of them a 4 KiB
// copy and the rest: 192 x 12 = 2304 copies. a and b fault together, c by itself: 64 x 6 x 2 = 768 groups. The host
// faults 6 times per block: 192 x 6 for the initialisation and 64 x 6 for reading c = 1536.
TEST(PublishedCounts, SingleThreadVectorAddOnV100) {
  const Result r = simulated(micro(
      "v100_sxm2_16gb", R"("generator": "vector_add", "mode": "thread", "elements": 33554432, "read_back": true)"));
  ASSERT_EQ(r.outcome, Outcome::Completed) << r.detail;
  const GpuCounts& c = r.gpus.at(0).counts;
  EXPECT_EQ(c.fault_groups, 768);
  EXPECT_EQ(c.h2d_copies, 2304);
  EXPECT_EQ(c.h2d_bytes, 384 * kMiB);
  EXPECT_EQ(c.d2h_copies, 768);
  EXPECT_EQ(c.d2h_bytes, 128 * kMiB);
  EXPECT_EQ(c.cpu_faults, 1536);
}

// The same notebook, one CTA of 256 threads: 2304 copies; 785 groups measured, 768 if nothing ever came late.
TEST(PublishedCounts, OneBlockVectorAddOnV100) {
  const Result r =
      simulated(micro("v100_sxm2_16gb", R"("generator": "vector_add", "mode": "block", "elements": 33554432)"));
  const GpuCounts& c = r.gpus.at(0).counts;
  EXPECT_EQ(c.h2d_bytes, 384 * kMiB);
  EXPECT_NEAR(static_cast<double>(c.fault_groups), 785, 785 * 0.03);
}

// NVIDIA forum 107172: one int per thread on a GTX 1060, 64 blocks of six groups; here eight groups fewer (gap 44).
TEST(PublishedCounts, FirstTouchByAGridOnGtx1060) {
  const Result r = simulated(micro("gtx1060_6gb", R"("generator": "first_touch", "size": "128 MiB")"));
  EXPECT_EQ(r.gpus.at(0).counts.fault_groups, 64 * 6 - 8);
}

// Allen & Ge, TITAN V, driver 460, prefetch off: one CTA of 32 threads, c = a + b at page stride. A group of SMs has 56
// request slots: the 32 loads of b and 24 of a's are batch 1, the other 8 of a batch 2, the 32 stores of c batch 3.
TEST(PublishedCounts, PageStrideAddOnTitanV) {
  const Result r = simulated(micro("titan_v", R"("generator": "page_stride", "pages": 32)",
                                   R"("version": "460.27", "uvm_perf_prefetch_enable": false)"));
  const GpuCounts& c = r.gpus.at(0).counts;
  EXPECT_EQ(c.fault_batches, 3);
  EXPECT_EQ(c.fault_entries, 56 + 8 + 32);
  EXPECT_EQ(c.flushed_faults, 0);
}

// capture/microbench/run_cost.cu, H200, recorded: 64 single pages of each of 16 blocks are on the host, and a fault on
// the first one brings back all of its block: 16 batches, 1024 copies. Of one run of 256 pages, the fault's page is a
// copy of its own: 16 x 2.
TEST(PublishedCounts, ReturnedRunsOnH200) {
  const auto counts = [](const std::string& runs_and_pages) {
    return simulated(micro("h200", R"("generator": "returned_runs", )" + runs_and_pages)).gpus.at(0).counts;
  };
  const GpuCounts single = counts(R"("runs": 64, "pages": 1)");
  EXPECT_EQ(single.fault_batches, 16);
  EXPECT_EQ(single.h2d_copies, 1024);
  const GpuCounts together = counts(R"("runs": 1, "pages": 256)");
  EXPECT_EQ(together.fault_batches, 16);
  EXPECT_EQ(together.h2d_copies, 32);
}

// UVMSmart micro-benchmarks, GTX 1080 Ti: one thread touches 64 KiB basic blocks of one allocation in a given order,
// each fault serviced alone. Bytes of the k-th fault = bytes of the first k touches less those of the first k - 1.
std::vector<std::int64_t> kib_per_touch(const std::string& size, const std::vector<int>& order) {
  std::vector<std::int64_t> kib;
  std::int64_t before = 0;
  for (std::size_t touches = 1; touches <= order.size(); ++touches) {
    std::string list;
    for (std::size_t i = 0; i < touches; ++i) list += (i > 0 ? ", " : "") + std::to_string(order[i]);
    const Result r = simulated(
        micro("gtx1080ti", R"("generator": "page_touch", "size": ")" + size + R"(", "order": [)" + list + "]"));
    const GpuCounts& c = r.gpus.at(0).counts;
    kib.push_back(c.h2d_bytes / kKiB - before);
    before = c.h2d_bytes / kKiB;
  }
  return kib;
}

TEST(PublishedCounts, P1) {
  EXPECT_EQ(kib_per_touch("2 MiB", {0, 1, 2, 4, 8, 16}), (std::vector<std::int64_t>{64, 64, 128, 256, 512, 1024}));
}

TEST(PublishedCounts, P2) {
  EXPECT_EQ(kib_per_touch("2 MiB", {1, 3, 0, 4, 8, 16}), (std::vector<std::int64_t>{64, 64, 128, 256, 512, 1024}));
}

TEST(PublishedCounts, P3) {
  EXPECT_EQ(kib_per_touch("2 MiB", {1, 3, 5, 7, 0, 8, 16}),
            (std::vector<std::int64_t>{64, 64, 64, 64, 256, 512, 1024}));
}

// Prefetch never crosses a 2 MiB boundary: three blocks, each as P1.
TEST(PublishedCounts, LargePageBoundary) {
  EXPECT_EQ(kib_per_touch("6 MiB", {0, 1, 2, 4, 8, 16, 32, 33, 34, 36, 40, 48, 64, 65, 66, 68, 72, 80}),
            (std::vector<std::int64_t>{64, 64, 128, 256, 512, 1024, 64, 64, 128, 256, 512, 1024, 64, 64, 128, 256, 512,
                                       1024}));
}

// An allocation of 2 MiB + 192 KiB: its tail is part of a tree of 256 KiB at least, so that the third fault of it
// brings 128 KiB.
TEST(PublishedCounts, RaggedAllocation) {
  EXPECT_EQ(kib_per_touch("2240 KiB", {0, 1, 2, 4, 8, 16, 32, 33, 34}),
            (std::vector<std::int64_t>{64, 64, 128, 256, 512, 1024, 64, 64, 128}));
}

// UVMSmart's ATAX: 1200 x 1200 floats are 1407 pages, with 64 KiB for x 5692 KiB; y, of which the host reads all,
// begins on page 1 of the block that it shares with x: 4 KiB before the page that faults, it, and 56 KiB behind. The
// host faults six times on each of the matrix' three blocks, once on x and once on y.
TEST(PublishedCounts, AtaxPacksItsVectors) {
  const Result r = simulated(micro("gtx1080ti", R"("generator": "atax", "read_back": true)"));
  ASSERT_EQ(r.outcome, Outcome::Completed) << r.detail;
  const GpuCounts& c = r.gpus.at(0).counts;
  EXPECT_EQ(c.h2d_bytes, 5692 * kKiB);
  EXPECT_EQ(c.d2h_bytes, 64 * kKiB);
  EXPECT_EQ(c.d2h_copies, 3);
  EXPECT_EQ(c.cpu_faults, 3 * 6 + 1 + 1);
}

// vector_add_um_baseline.cu, nvprof, Tesla T4: three arrays of 256 KiB lie in one block. The host faults at 0, 64 and
// 128 KiB of the first (the third brings 128 KiB) and once on the second: 320 of 512 KiB are then there.
TEST(PublishedCounts, SmallArraysShareABlockOnT4) {
  const Result r = simulated(micro("t4", R"("generator": "vector_add", "elements": 65536, "block": 1024,
                                            "init_result": false)"));
  ASSERT_EQ(r.outcome, Outcome::Completed) << r.detail;
  EXPECT_EQ(r.gpus.at(0).counts.cpu_faults, 4);
  EXPECT_EQ(r.gpus.at(0).counts.h2d_bytes, 512 * kKiB);
}

// cudaMemPrefetchAsync of N = 24 blocks into C = 16: two passes over a cyclic list miss every time. 2N = 48 blocks come
// in, 2N - C = 32 go out.
TEST(PublishedCounts, PrefetchOfMoreThanFitsMovesEverythingTwice) {
  const Result r =
      simulated(micro("v100_sxm2_16gb", R"("generator": "prefetch_stream", "size": "48 MiB", "pieces": 1)"),
                {"machine.gpu.usable_memory=32 MiB"});
  ASSERT_EQ(r.outcome, Outcome::Completed) << r.detail;
  const GpuCounts& c = r.gpus.at(0).counts;
  EXPECT_GE(c.h2d_bytes, 48 * 2 * kMiB);
  EXPECT_GE(c.evicted_chunks, 32);
}

// Reading N = 24 blocks again and again with room for 16: least recently serviced first, so all 24 miss every round.
TEST(PublishedCounts, CyclicScanMissesEverythingEveryRound) {
  const auto blocks_in = [](int rounds) {
    const Result r = simulated(micro("v100_sxm2_16gb", R"("generator": "repeated_read", "size": "48 MiB", "rounds": )" +
                                                           std::to_string(rounds)),
                               {"machine.gpu.usable_memory=32 MiB"});
    return r.gpus.at(0).counts.h2d_bytes / (2 * kMiB);
  };
  EXPECT_EQ(blocks_in(1), 24);
  EXPECT_EQ(blocks_in(2), 48);
  EXPECT_EQ(blocks_in(5), 120);
}

}  // namespace
}  // namespace uvmsim
