#include "encode.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>

namespace uvmcap {
namespace {

template <typename Record>
std::string line_of(const Record& record) {
  Encoder encoder;
  std::string out;
  encoder.encode(record, out);
  return out;
}

// The example between ```uvmcap and ``` of the page that describes the format.
std::string documented_example() {
  std::ifstream page(UVMSIM_SOURCE_DIR "/capture/FORMAT.md");
  std::string example;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line == "```") inside = false;
    if (inside) example += line + "\n";
    if (line == "```uvmcap") inside = true;
  }
  return example;
}

constexpr std::uint64_t kManaged = 140000000000000;
constexpr std::uint64_t kDevice = 140000008388608;

Call call(std::uint64_t time, std::uint32_t correlation) { return {.time = time, .correlation = correlation}; }

TEST(Encode, GivesTheExampleOfTheFormatsPage) {
  Encoder encoder;
  std::string out;
  encoder.encode(Header{.library_version = "0.1.0",
                        .pid = 4242,
                        .executable = "/usr/bin/vecadd",
                        .arguments = {"vecadd", "-n", "1"},
                        .clock = 1000,
                        .wall = 1700000000000000000,
                        .cupti = 130001,
                        .cupti_built = 130001,
                        .layouts_verified = true,
                        .kinds = {"kernel", "copy", "memory", "args", "hints", "sync"}},
                 out);
  encoder.encode(DeviceInfo{.name = "NVIDIA H200",
                            .memory_bytes = 150754820096,
                            .bytes_per_second = 4800000000000,
                            .multiprocessors = 132,
                            .clock_hz = 1980000000,
                            .l2_bytes = 62914560,
                            .capability_major = 9},
                 out);
  encoder.encode(Allocation{call(2000, 3), Memory::kManaged, kManaged, 8388608, {}}, out);
  encoder.encode(Allocation{call(2500, 4), Memory::kDevice, kDevice, 4194304, {}}, out);
  encoder.encode(StreamInfo{.stream = 7, .context = 1, .device = 0, .is_default = true}, out);
  encoder.encode(Prefetch{call(3000, 5), 7, kManaged, 8388608, 0}, out);
  Launch launch{call(4000, 6), 7, std::vector<std::uint64_t>{kManaged, kDevice}};
  launch.call.external = 17;
  encoder.encode(launch, out);
  encoder.encode(Synchronize{call(5000, 7), 90000, Synchronize::Of::kDevice, 0}, out);
  encoder.encode(KernelRun{.correlation = 6,
                           .name = "vecadd(float*, float*, int)",
                           .stream = 7,
                           .start = 60000,
                           .end = 88000,
                           .grid = {4096, 1, 1},
                           .block = {256, 1, 1},
                           .registers = 16},
                 out);
  encoder.encode(UnifiedMemoryEvent{.kind = 1,
                                    .value = 2097152,
                                    .start = 10000,
                                    .end = 52000,
                                    .address = kManaged,
                                    .source = 0xFFFFFFFF,
                                    .destination = 0,
                                    .flags = 1},
                 out);
  encoder.encode(Release{call(95000, 9), kDevice, 0, {}}, out);
  encoder.encode(End{.time = 99000, .host = 6, .gpu = 2, .dropped = 0}, out);
  EXPECT_EQ(out, documented_example());
}

TEST(Encode, NamesAStringOnceBeforeItsFirstUse) {
  Encoder encoder;
  std::string out;
  for (int i = 0; i < 2; ++i) encoder.encode(KernelRun{.name = "f"}, out);
  encoder.encode(KernelRun{.name = "g"}, out);
  const std::string rest =
      ",\"dev\":0,\"st\":0,\"s\":0,\"e\":0,\"grid\":[0,0,0],\"blk\":[0,0,0],\"regs\":0,\"smem\":0}\n";
  EXPECT_EQ(out, "{\"k\":\"str\",\"i\":0,\"s\":\"f\"}\n{\"k\":\"kernel\",\"c\":0,\"n\":0" + rest +
                     "{\"k\":\"kernel\",\"c\":0,\"n\":0" + rest +
                     "{\"k\":\"str\",\"i\":1,\"s\":\"g\"}\n{\"k\":\"kernel\",\"c\":0,\"n\":1" + rest);
}

TEST(Encode, LeavesOutPointersThatCouldNotBeReadButNotThoseThatAreNone) {
  EXPECT_EQ(line_of(Launch{call(1, 2), 7, std::nullopt}), "{\"k\":\"launch\",\"t\":1,\"th\":0,\"c\":2,\"st\":7}\n");
  EXPECT_EQ(line_of(Launch{call(1, 2), 7, std::vector<std::uint64_t>{}}),
            "{\"k\":\"launch\",\"t\":1,\"th\":0,\"c\":2,\"st\":7,\"ptr\":[]}\n");
}

TEST(Encode, SaysDeviceThreadAndResultOfACall) {
  const Call failed{.time = 1, .thread = 3, .correlation = 2, .device = 1, .external = 0, .result = 2};
  EXPECT_EQ(line_of(Allocation{failed, Memory::kPool, 0, 64, 13}),
            "{\"k\":\"alloc\",\"t\":1,\"th\":3,\"c\":2,\"dev\":1,\"rc\":2,\"a\":0,\"bytes\":64,\"mem\":\"pool\",\"st\":"
            "13}\n");
}

TEST(Encode, SaysWhatEachSynchronizationWaitedFor) {
  EXPECT_EQ(line_of(Synchronize{call(1, 2), 5, Synchronize::Of::kStream, 7}),
            "{\"k\":\"sync\",\"t\":1,\"th\":0,\"c\":2,\"e\":5,\"of\":\"stream\",\"st\":7}\n");
  EXPECT_EQ(line_of(Synchronize{call(1, 2), 5, Synchronize::Of::kEvent, 99}),
            "{\"k\":\"sync\",\"t\":1,\"th\":0,\"c\":2,\"e\":5,\"of\":\"event\",\"ev\":99}\n");
}

TEST(Encode, KeepsTheArgumentsOfHints) {
  EXPECT_EQ(line_of(Advise{call(1, 2), 4096, 8192, Advice::kSetPreferredLocation, -1}),
            "{\"k\":\"advise\",\"t\":1,\"th\":0,\"c\":2,\"a\":4096,\"bytes\":8192,\"advice\":\"set_preferred_"
            "location\",\"to\":-1}\n");
  EXPECT_EQ(line_of(Discard{call(1, 2), 7, 4096, 8192, std::nullopt}),
            "{\"k\":\"discard\",\"t\":1,\"th\":0,\"c\":2,\"st\":7,\"a\":4096,\"bytes\":8192}\n");
  EXPECT_EQ(line_of(Discard{call(1, 2), 7, 4096, 8192, -1}),
            "{\"k\":\"discard\",\"t\":1,\"th\":0,\"c\":2,\"st\":7,\"a\":4096,\"bytes\":8192,\"to\":-1}\n");
}

// CUpti_ActivityMemcpyKind 10 is peer to peer; memory kinds 2 and 3 are pinned and device.
TEST(Encode, NamesKindsOfCopies) {
  EXPECT_EQ(
      line_of(CopyRun{.correlation = 4,
                      .device = 0,
                      .stream = 7,
                      .start = 10,
                      .end = 20,
                      .bytes = 64,
                      .kind = 10,
                      .source = 3,
                      .destination = 3,
                      .async = true,
                      .peer = 1}),
      "{\"k\":\"memcpy\",\"c\":4,\"dev\":0,\"st\":7,\"s\":10,\"e\":20,\"bytes\":64,\"kind\":\"p2p\",\"src\":\"device\","
      "\"dst\":\"device\",\"async\":1,\"peer\":1}\n");
  CopyRun unknown;
  unknown.kind = 99;
  unknown.source = 2;
  EXPECT_NE(line_of(unknown).find("\"kind\":\"unknown\",\"src\":\"pinned\""), std::string::npos);
}

TEST(Encode, GivesEachUnifiedMemoryEventItsFields) {
  UnifiedMemoryEvent event{
      .value = 3, .start = 10, .end = 20, .address = 4096, .source = 0, .destination = 1, .flags = 2};
  event.kind = 4;
  EXPECT_EQ(
      line_of(event),
      "{\"k\":\"um\",\"kind\":\"gpu_fault\",\"a\":4096,\"v\":3,\"s\":10,\"e\":20,\"src\":0,\"access\":\"write\"}\n");
  event.kind = 3;  // the end and the source of a CPU fault mean nothing
  EXPECT_EQ(line_of(event),
            "{\"k\":\"um\",\"kind\":\"cpu_fault\",\"a\":4096,\"v\":3,\"s\":10,\"e\":10,\"access\":\"write\"}\n");
  event.kind = 5;
  EXPECT_EQ(line_of(event), "{\"k\":\"um\",\"kind\":\"thrashing\",\"a\":4096,\"v\":3,\"s\":10,\"e\":10,\"devs\":0}\n");
  event.kind = 6;
  EXPECT_EQ(line_of(event), "{\"k\":\"um\",\"kind\":\"throttling\",\"a\":4096,\"s\":10,\"e\":20,\"src\":0}\n");
  event.kind = 7;
  EXPECT_EQ(line_of(event),
            "{\"k\":\"um\",\"kind\":\"remote_map\",\"a\":4096,\"v\":3,\"s\":10,\"e\":10,\"src\":0,\"dst\":1,\"cause\":"
            "\"thrashing\"}\n");
  event.kind = 2;
  event.flags = 4;
  EXPECT_EQ(line_of(event),
            "{\"k\":\"um\",\"kind\":\"d2h\",\"a\":4096,\"v\":3,\"s\":10,\"e\":20,\"src\":0,\"dst\":1,\"cause\":"
            "\"eviction\"}\n");
}

TEST(Encode, EscapesTextAndReplacesWhatIsNoUtf8) {
  EXPECT_EQ(line_of(Note{"a\"b\\\n\x01"}), "{\"k\":\"note\",\"text\":\"a\\\"b\\\\\\u000a\\u0001\"}\n");
  EXPECT_EQ(line_of(Note{"\xC3\xA4|\xC3|\xFF|\xED\xA0\x80"}),
            "{\"k\":\"note\",\"text\":\"\xC3\xA4|\xEF\xBF\xBD|\xEF\xBF\xBD|\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"}\n");
}

TEST(Encode, NamesTheProfilerThatIsInTheWay) {
  EXPECT_EQ(line_of(Failure{"busy", 39, "Nsight Systems"}),
            "{\"k\":\"error\",\"text\":\"busy\",\"code\":39,\"holder\":\"Nsight Systems\"}\n");
}

}  // namespace
}  // namespace uvmcap
