// The committed machine files.
#include <gmock/gmock.h>

#include "machine/description.h"
#include "machine/memory_nodes.h"
#include "support/read_file.h"

namespace uvmsim {
namespace {

using testing::IsEmpty;

const std::string kMachines = UVMSIM_SOURCE_DIR "/configs/machines/";

struct Read {
  Machine machine;
  std::vector<InputError> errors;
  ResolvedConfig resolved;
};

Read read(const std::string& name, const std::vector<std::string>& settings = {}) {
  Read r;
  JsonValue document = load_json(kMachines + name + ".json", test::read_file, r.errors);
  for (const std::string& setting : settings) apply_setting(document, setting, r.errors);
  r.machine = read_machine(&document, "/machine", r.errors, r.resolved);
  return r;
}

std::string text_of(const std::vector<InputError>& errors) {
  std::string text;
  for (const InputError& error : errors) text += error.place + ": " + error.message + "\n";
  return text;
}

class MachineFile : public testing::TestWithParam<std::string> {};

TEST_P(MachineFile, IsReadWithoutFault) {
  Read r;
  const JsonValue document = load_json(GetParam(), test::read_file, r.errors);
  r.machine = read_machine(&document, "/machine", r.errors, r.resolved);
  EXPECT_EQ(text_of(r.errors), "");
  EXPECT_FALSE(r.machine.gpus.empty());
}

// Every number says how well it is known and where it comes from; texts are names and need no source.
TEST_P(MachineFile, EveryNumberHasAStatusAndASource) {
  Read r;
  const JsonValue document = load_json(GetParam(), test::read_file, r.errors);
  read_machine(&document, "/machine", r.errors, r.resolved);
  const std::vector<std::string> texts = {"name", "architecture", "kind",    "from", "to",
                                          "node", "peer_access",  "membind", "use"};
  // Optional: without them a link's capacity does not depend on the other direction or on sharing, kernels do not use a
  // memory in place, pages are 4 KiB, and tensors under plans have one copy engine in each direction.
  const std::vector<std::string> optional = {"down_duplex",        "up_duplex",   "both",
                                             "sharing_efficiency", "kernel_read", "kernel_write",
                                             "page_size",          "engines",     "own_dma"};
  int numbers = 0;
  for (const ResolvedValue& value : r.resolved) {
    const std::string key = value.pointer.substr(value.pointer.rfind('/') + 1);
    if (std::ranges::find(texts, key) != texts.end()) continue;
    if (value.origin == "default" && std::ranges::find(optional, key) != optional.end()) continue;
    ++numbers;
    EXPECT_NE(value.status, "") << value.pointer << " at " << value.origin;
    EXPECT_NE(value.source, "") << value.pointer << " at " << value.origin;
    EXPECT_NE(value.origin, "default") << value.pointer << " is not in the file";
  }
  EXPECT_GT(numbers, 50);
}

std::string stem(const testing::TestParamInfo<std::string>& info) {
  return std::filesystem::path(info.param).stem().string();
}
INSTANTIATE_TEST_SUITE_P(Committed, MachineFile, testing::ValuesIn(test::json_files(kMachines)), stem);

// 8 V100s, 4 switches, 2 sockets: 2 memories + 1 QPI + 4 uplinks + 8 GPU links + 16 NVLink pairs.
TEST(Dgx1, HasEightGpusAndItsLinks) {
  const Machine m = read("dgx1_v100_32gb").machine;
  ASSERT_EQ(m.gpus.size(), 8u);
  EXPECT_EQ(m.links.size(), 31u);
  EXPECT_EQ(m.gpus[GpuIndex{7}].memory, Bytes{32LL << 30});
  EXPECT_EQ(m.gpus[GpuIndex{7}].usable_memory, Bytes{33'300'000'000});
  EXPECT_EQ(m.gpus[GpuIndex{0}].driver_costs.cpu_unmap_page, Duration{50'100});
  EXPECT_EQ(m.gpus[GpuIndex{0}].driver_costs.copy_method, Duration{47'900});
  EXPECT_EQ(m.host.runtime.malloc_large, microseconds(50));
}

// Six NVLink 2.0 per V100 at 25 GB/s each.
TEST(Dgx1, EveryV100HasSixNvlinks) {
  const Machine m = read("dgx1_v100_32gb").machine;
  for (int gpu = 0; gpu < 8; ++gpu) {
    const std::string name = "gpu" + std::to_string(gpu);
    std::int64_t bandwidth = 0;
    for (const LinkSpec& link : m.links)
      if (link.kind == "nvlink" && (link.from == name || link.to == name)) bandwidth += link.down.value;
    EXPECT_EQ(bandwidth, 150'000'000'000) << name;
  }
}

// What stays of a DGX-1 with one GPU: both memories, QPI, one uplink and one GPU link.
TEST(Dgx1, WithOneGpuKeepsOnlyItsPath) {
  const Read r = read("dgx1_v100_32gb", {"gpus=1"});
  EXPECT_EQ(text_of(r.errors), "");
  ASSERT_EQ(r.machine.gpus.size(), 1u);
  std::vector<std::string> names;
  for (const LinkSpec& link : r.machine.links) names.push_back(link.name);
  EXPECT_THAT(names, testing::ElementsAre("memory0", "memory1", "qpi", "uplink0", "pcie0"));
}

TEST(Dgx1, CannotHaveNineGpus) {
  const Read r = read("dgx1_v100_32gb", {"gpus=9"});
  EXPECT_EQ(text_of(r.errors), "/machine/gpus (--set): 9 GPUs, but the machine's links connect 8\n");
}

// Each V100 has three NVLinks to its POWER9 and three to the GPU beside it, 25 GB/s each way each: all six that it has.
TEST(Ac922, HasNvlinksToItsHost) {
  const Machine m = read("ac922_v100_16gb_x4").machine;
  ASSERT_EQ(m.gpus.size(), 4u);
  for (const GpuSpec& gpu : m.gpus) {
    EXPECT_EQ(gpu.host_link, "nvlink");
    EXPECT_TRUE(has_ats(gpu));
  }
  EXPECT_EQ(m.host.page_size, Bytes{65536});
  const LinkPath near = path_from_memory(m, GpuIndex{0}, 0), far = path_from_memory(m, GpuIndex{0}, 1);
  EXPECT_EQ(near.size(), 2u);
  EXPECT_EQ(near.back().rate(), BytesPerSecond{70'500'000'000});
  ASSERT_EQ(far.size(), 3u);
  EXPECT_EQ(far[1].rate(), BytesPerSecond{64'000'000'000});
  EXPECT_EQ(nvlink_path(m.links, "gpu0", "gpu1").size(), 1u);
  EXPECT_TRUE(nvlink_path(m.links, "gpu1", "gpu2").empty());
}

// numactl --membind=1: GPU 0's pages are on the other socket.
TEST(Ac922, HasItsPagesWhereMembindSays) {
  EXPECT_EQ(managed_memory(read("ac922_v100_16gb_x4").machine, GpuIndex{0}), "memory0");
  EXPECT_EQ(managed_memory(read("ac922_v100_16gb_x4").machine, GpuIndex{3}), "memory1");
  const Machine bound = read("ac922_v100_16gb_x4", {"host.membind=memory1"}).machine;
  EXPECT_EQ(managed_memory(bound, GpuIndex{0}), "memory1");
  EXPECT_EQ(nearest_dram(bound, GpuIndex{0}), 1);
  EXPECT_EQ(text_of(read("ac922_v100_16gb_x4", {"host.membind=memory2"}).errors),
            "/machine/host/membind (--set): \"memory2\" is no memory of kind dram\n");
  EXPECT_EQ(text_of(read("ac922_v100_16gb_x4", {"host.page_size=16 KiB"}).errors),
            "/machine/host/page_size (--set): expected \"4 KiB\" or \"64 KiB\"\n");
}

TEST(Gh200, HangsOnC2c) {
  const Machine m = read("gh200_96gb").machine;
  EXPECT_EQ(m.gpus[GpuIndex{0}].host_link, "c2c");
  EXPECT_TRUE(has_ats(m.gpus[GpuIndex{0}]));
  EXPECT_EQ(m.host.page_size, Bytes{65536});
}

// Of the 192 GiB of DRAM each socket has half. The V100 hangs on socket 0: the other socket's modules are one link
// further away.
TEST(OptaneServer, HasTwoMemoriesPerSocket) {
  const Machine m = read("optane_v100_16gb").machine;
  std::vector<std::string> names;
  for (const MemoryNode& memory : m.memories) names.push_back(memory.name);
  EXPECT_THAT(names, testing::ElementsAre("optane0", "optane1", "memory0", "memory1"));
  EXPECT_EQ(m.memories[2].capacity, Bytes{96LL << 30});
  EXPECT_EQ(m.memories[3].capacity, Bytes{96LL << 30});
  EXPECT_EQ(nearest_dram(m, GpuIndex{0}), 2);
  EXPECT_EQ(path_from_memory(m, GpuIndex{0}, 0).size(), 2u);
  EXPECT_EQ(path_from_memory(m, GpuIndex{0}, 1).size(), 3u);
  EXPECT_GT(m.memories[0].read, m.memories[0].write);
}

// 3.2 x 2^30 bytes/s are less than any link on the way: the SSD is what limits its copies, by its own DMA.
TEST(G10, IsLimitedByItsSsd) {
  const Machine m = read("g10_a100_40gb").machine;
  const MemoryNode& ssd = m.memories.at(0);
  EXPECT_EQ(ssd.read, BytesPerSecond{3'435'973'837});
  EXPECT_EQ(ssd.write, ssd.read);
  EXPECT_TRUE(ssd.own_dma);
  EXPECT_EQ(ssd.latency, microseconds(20));
  for (const LinkHop& hop : path_from_memory(m, GpuIndex{0}, 0)) EXPECT_GT(hop.rate(), ssd.read) << hop.link->name;
  for (const LinkHop& hop : path_to_memory(m, GpuIndex{0}, 0)) EXPECT_GT(hop.rate(), ssd.write) << hop.link->name;
}

// Two cards write 5.2 GB/s together, less than the 13.2 GB/s that the GPU's link carries.
TEST(FlashNeuron, WritesToBothCardsAtOnce) {
  const Machine m = read("flashneuron_v100_16gb").machine;
  BytesPerSecond together{};
  for (const char* name : {"ssd0", "ssd1"})
    together += m.memories.at(static_cast<std::size_t>(memory_named(m, name).value())).write;
  EXPECT_EQ(together, BytesPerSecond{5'200'000'000});
  EXPECT_LT(together, path_to_memory(m, GpuIndex{0}, 0).front().rate());
}

// PUT is sampled 700 ns after the first re-fault can be visible: put_read + replay_wait - entry_latency.
TEST(DriverCosts, SamplePutSevenHundredNanosecondsAfterTheFirstRefault) {
  for (const std::string& file : test::json_files(kMachines)) {
    const Machine m = read(std::filesystem::path(file).stem()).machine;
    const GpuSpec& gpu = m.gpus.at(GpuIndex{0});
    EXPECT_EQ(gpu.driver_costs.put_read + gpu.driver_costs.replay_wait - gpu.fault.entry_latency, nanoseconds(700))
        << file;
  }
}

// DLI notebook, V100-SXM2-16GB: 2304 copies of 384 MiB in 42.0 ms in, 768 copies of 128 MiB in 11.287 ms out.
TEST(CopyEngine, AV100CopiesAtTheMeasuredSpeed) {
  const CopyEngineSpec copy = read("v100_sxm2_16gb").machine.gpus.at(GpuIndex{0}).copy;
  const Duration in = copy.method_latency * 2304 + transfer_time(Bytes{384LL << 20}, copy.h2d_bandwidth);
  const Duration out = copy.method_latency * 768 + transfer_time(Bytes{128LL << 20}, copy.d2h_bandwidth);
  EXPECT_NEAR(seconds(in), 42.0e-3, 0.03 * 42.0e-3);
  EXPECT_NEAR(seconds(out), 11.287e-3, 0.05 * 11.287e-3);  // copies out start faster than copies in
}

// UVMSmart, GTX 1080 Ti: copies of 4, 64 and 1020 KiB in 1.73, 6.08 and 86.4 us.
TEST(CopyEngine, AGtx1080TiCopiesAtTheMeasuredSpeed) {
  const CopyEngineSpec copy = read("gtx1080ti").machine.gpus.at(GpuIndex{0}).copy;
  const auto microseconds_of = [&](std::int64_t kib) {
    return seconds(copy.method_latency + transfer_time(Bytes{kib << 10}, copy.h2d_bandwidth)) * 1e6;
  };
  EXPECT_NEAR(microseconds_of(4), 1.73, 0.2);
  EXPECT_NEAR(microseconds_of(64), 6.08, 0.6);
  EXPECT_NEAR(microseconds_of(1020), 86.4, 0.5);
}

}  // namespace
}  // namespace uvmsim
