// What accesses to remote memory put on the link, and how long the link needs for it.
#include "gpu/remote_access.h"

#include <gtest/gtest.h>

#include "gpu/kernel_program.h"
#include "gpu/pacing.h"
#include "support/sizes.h"

namespace uvmsim {
namespace {

// --- requests: sectors of 32 B, those of one line of 128 B together

TEST(LinkRequests, AWholeLineIsOneRequest) {
  EXPECT_EQ(requests_of(kManagedBase, 128), (LinkRequests{1, 128}));
  EXPECT_EQ(requests_of(kManagedBase, 1), (LinkRequests{1, 32}));
  EXPECT_EQ(requests_of(kManagedBase, 0), (LinkRequests{0, 0}));
}

// 128 B from byte 32 of a line: 96 B of it and 32 B of the next.
TEST(LinkRequests, AnAccessAcrossTwoLinesIsTwo) {
  EXPECT_EQ(requests_of(kManagedBase + 32, 128), (LinkRequests{2, 128}));
  // From byte 16: half of sector 0 and half of sector 4 come too.
  EXPECT_EQ(requests_of(kManagedBase + 16, 128), (LinkRequests{2, 160}));
}

// 16 floats each 48 B begin at bytes -8, 40, 88, 136, ... of a line: always 3 sectors, and 4 of 8 cross into a next
// line. 8 accesses: 8 x 96 B for 8 x 48 B that are new (2 times), in 12 requests: 64 B each.
TEST(LinkRequests, OfHotspotsRows) {
  EXPECT_EQ(requests_of(kManagedBase + 40, 64, 48, 8), (LinkRequests{12, 768}));
  EXPECT_EQ(requests_of(kManagedBase + 40, 64, 48, 8000), (LinkRequests{12000, 768000}));
}

// 300 B in pieces of 128 B: 128, 128 and 44; two lines of them, 320 B apart: the second begins in the middle of a line.
// 128 B from byte 64 are 64 and 64, twice; 44 B from there are 2 sectors of one line.
TEST(LinkRequests, PiecesEndWithTheLine) {
  EXPECT_EQ(piece_requests_of(kManagedBase, 300, 128), (LinkRequests{3, 320}));
  EXPECT_EQ(piece_requests_of(kManagedBase, 300, 128, 320, 2), (LinkRequests{3 + 5, 640}));
}

// 32 threads of 4 B: side by side one line; 8 B apart two; 128 B apart a sector each.
TEST(LinkRequests, AWarpGathers) {
  EXPECT_EQ(gather_requests_of(kManagedBase, 4, 4, 32), (LinkRequests{1, 128}));
  EXPECT_EQ(gather_requests_of(kManagedBase, 4, 8, 32), (LinkRequests{2, 256}));
  EXPECT_EQ(gather_requests_of(kManagedBase, 4, 128, 32), (LinkRequests{32, 1024}));
  EXPECT_EQ(gather_requests_of(kManagedBase, 4, 4096, 40), (LinkRequests{40, 1280}));
}

// --- the link: 12 GB/s in requests of 128 B, 790 ns round trip, a request each 6.75 ns (the V100's)

GpuSpec v100() {
  GpuSpec gpu;
  gpu.sms = 80;
  gpu.max_threads_per_sm = 2048;
  gpu.max_ctas_per_sm = 32;
  gpu.remote_bandwidth = BytesPerSecond{12'000'000'000};
  gpu.remote_latency = nanoseconds(790);
  gpu.remote_request_interval = Duration{6750};
  return gpu;
}

double rate(LinkRequests read, std::int64_t useful) {
  return static_cast<double>(useful) / seconds(remote_load({read, {}, 1}, v100(), 5120).alone(v100()));
}

// Min et al., EMOGI, VLDB 2020, a V100: 12.23 GB/s in requests of 128 B; 9.61 GB/s where each warp's 128 B
// begin at byte 32 of a line (64 B / 6.75 ns = 9.48); 4.74 GB/s in requests of 32 B, which the interval is made from.
TEST(RemoteLoad, IsAsFastAsEmogisThreeKernels) {
  const std::int64_t warps = 1 << 20;
  EXPECT_NEAR(rate(requests_of(kManagedBase, 128, 128, warps), warps * 128), 12.23e9, 0.02 * 12.23e9);
  EXPECT_NEAR(rate(requests_of(kManagedBase + 32, 128, 128, warps), warps * 128), 9.61e9, 0.02 * 9.61e9);
  EXPECT_NEAR(rate(requests_of(kManagedBase, 32, 32, warps), warps * 32), 4.74e9, 0.01 * 4.74e9);
}

// An answer of 128 B is 148 B on the wire, four of 32 B are 208 B: as long as 208 / 148 x 128 = 179 B. Writes: 152 and
// 224, so 188 B.
TEST(RemoteLoad, SmallRequestsCarryMoreHeaders) {
  EXPECT_EQ(remote_load({{1, 128}, {1, 128}, 1}, v100(), 1).to_gpu, Bytes{128});
  EXPECT_EQ(remote_load({{4, 128}, {}, 1}, v100(), 1).to_gpu, Bytes{179});
  EXPECT_EQ(remote_load({{}, {4, 128}, 0}, v100(), 1).to_host, Bytes{188});
  // NVLink: 16 B each way. Four sectors of 32 B: 4 (32 + 16) = 192 B, as 170 B in one line with its 16.
  GpuSpec ac922 = v100();
  ac922.host_link = "nvlink";
  EXPECT_EQ(remote_load({{4, 128}, {4, 128}, 1}, ac922, 1).to_gpu, Bytes{170});
  EXPECT_EQ(remote_load({{4, 128}, {4, 128}, 1}, ac922, 1).to_host, Bytes{170});
}

// 1000 loads by one warp come one after the other, by 100 warps ten at a time each; from 790 / 6.75 = 117 on the link's
// tags limit them.
TEST(RemoteLoad, FewWarpsWaitForRoundTrips) {
  const RemoteAccess access{requests_of(kManagedBase, 128, 128, 1000), {}, 1000};
  EXPECT_EQ(remote_load(access, v100(), 1).alone(v100()), nanoseconds(790'000));
  EXPECT_EQ(remote_load(access, v100(), 100).answers, nanoseconds(7'900));
  EXPECT_EQ(remote_load(access, v100(), 2000).answers, nanoseconds(6'750));
}

// --- kernels

PageTable remote_pages(std::int64_t blocks) {
  PageTable pages;
  for (std::uint32_t f = 0; f < blocks; ++f) pages.map(FrameIndex{f}, PageMask::all(), true, true);
  return pages;
}

RemoteAccess access_of(const Operand& operand, const PageTable& pages, const trace::PatternOptions& options = {},
                       LaunchShape shape = {}) {
  const std::vector<trace::PatternOptions> all = {options};
  return make_kernel_program(shape, std::span(&operand, 1), all)->remote_access(pages, 80);
}

TEST(RemoteAccess, OfASweepIsItsBytesInWholeLines) {
  const Operand both{kManagedBase, kMiB, trace::Mode::ReadWrite};
  const RemoteAccess access = access_of(both, remote_pages(1));
  EXPECT_EQ(access.read, (LinkRequests{8192, kMiB}));
  EXPECT_EQ(access.written, (LinkRequests{8192, kMiB}));
  EXPECT_EQ(access.loads, 8192);
}

// A quarter of the pages are remote, the others here.
TEST(RemoteAccess, CountsRemotePagesOnly) {
  PageTable pages;
  pages.map(FrameIndex{0}, PageMask::all(), true, false);
  pages.map(FrameIndex{0}, PageMask::of({0, 128}), true, true);
  EXPECT_EQ(access_of({kManagedBase, 2 * kMiB, trace::Mode::Read}, pages).read, (LinkRequests{4096, kMiB / 2}));
  EXPECT_TRUE(access_of({kManagedBase + kMiB, kMiB, trace::Mode::Read}, pages).empty());
}

// Rodinia's hotspot of 8192^2 floats at pyramid height 2: 683 tiles of 12 wide with 2 around. A row of tiles reads
// 65504 B of each of its rows in 1023 requests (the first tile begins at 0, the last has 8 + 2 columns), 10920 rows in
// all: 715 MB of the array's 268, in 11.2 million requests of 64 B.
TEST(RemoteAccess, OfHotspotIsEightThirdsOfTheArray) {
  const std::int64_t n = 8192, row = n * 4;
  const Operand power{kManagedBase, n * row, trace::Mode::Read, trace::Pattern::Stencil, 1, 0};
  const RemoteAccess access =
      access_of(power, remote_pages(128), {.rows = n, .columns = n, .leading_dimension = row, .count = 2});
  EXPECT_EQ(access.read, (LinkRequests{1023 * 10920, 65504 * 10920}));
  EXPECT_NEAR(static_cast<double>(access.read.bytes) / static_cast<double>(n * row), 8.0 / 3, 0.01);
}

// 64 threads read 4 B each 4 KiB: 64 sectors of 256 KiB.
TEST(RemoteAccess, OfSparsePlacesIsWhatIsTouched) {
  const Operand places{kManagedBase, 64 * kPageBytes, trace::Mode::Read, trace::Pattern::Strided, 1, 0};
  const RemoteAccess access = access_of(places, remote_pages(1), {.width = 4, .stride = kPageBytes}, {2, 32});
  EXPECT_EQ(access.read, (LinkRequests{64, 2048}));
  EXPECT_EQ(access.loads, 2);  // one per warp
}

// 1000 places of 256 B anywhere: two lines, eight sectors each.
TEST(RemoteAccess, OfRandomPlacesIsTheirSectors) {
  const Operand table{kManagedBase, 2 * kMiB, trace::Mode::Read, trace::Pattern::Random, 1, 0};
  EXPECT_EQ(access_of(table, remote_pages(1), {.width = 256, .count = 1000}).read, (LinkRequests{2000, 256000}));
}

// Four dependent loads of one thread: each waits for the one before.
TEST(RemoteAccess, OfAPointerChaseIsALoadAtATime) {
  const Operand list{kManagedBase, 4 * kPageBytes, trace::Mode::Read, trace::Pattern::Chase, 1, 0};
  const std::vector<trace::PatternOptions> options = {{.stride = kPageBytes, .count = 4}};
  const auto program = make_kernel_program({}, std::span(&list, 1), options);
  const RemoteAccess access = program->remote_access(remote_pages(1), 80);
  EXPECT_EQ(access.read, (LinkRequests{4, 128}));
  EXPECT_EQ(resident_warps(v100(), *program), 1);
  EXPECT_EQ(remote_load(access, v100(), 1).alone(v100()), nanoseconds(4 * 790));
}

// One page for 160 CTAs: each of 80 SMs reads it once.
TEST(RemoteAccess, OfWhatAllCtasReadIsOncePerSm) {
  const std::vector<Operand> operands = {
      {kManagedBase, 160 * 2048, trace::Mode::Read},
      {kManagedBase + 2 * kMiB, kPageBytes, trace::Mode::Read, trace::Pattern::Broadcast}};
  PageTable pages;
  pages.map(FrameIndex{0}, PageMask::all(), true, false);
  pages.map(FrameIndex{1}, PageMask::all(), true, true);
  const RemoteAccess access = make_kernel_program({}, operands, {})->remote_access(pages, 80);
  EXPECT_EQ(access.read, (LinkRequests{80 * 32, 80 * kPageBytes}));
}

// C = A B of 1024^2 floats: 8 x 8 tiles. A's rows are read 8 floats at a time by the 8 tiles of a row, a sector each
// time; B's rows 128 floats at a time, four lines, by the 8 tiles of a column.
TEST(RemoteAccess, OfAProductIsOnePanelPerTile) {
  const std::int64_t n = 1024, bytes = n * n * 4;
  const std::vector<trace::PatternOptions> options = {{.rows = n, .columns = n, .leading_dimension = n * 4}};
  const auto matrix = [&](int i, trace::Mode mode) {
    return Operand{kManagedBase + static_cast<VirtualAddress>(i * bytes), bytes, mode, trace::Pattern::Tile, 1, 0};
  };
  const std::vector<Operand> operands = {matrix(0, trace::Mode::Read), matrix(1, trace::Mode::Read),
                                         matrix(2, trace::Mode::Write)};
  const RemoteAccess access = make_kernel_program({}, operands, options)->remote_access(remote_pages(6), 80);
  EXPECT_EQ(access.read, (LinkRequests{8 * bytes / 32 + 8 * bytes / 128, 16 * bytes}));
  EXPECT_EQ(access.written, (LinkRequests{bytes / 128, bytes}));
}

}  // namespace
}  // namespace uvmsim
