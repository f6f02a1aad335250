// Every parameter that shapes time, varied, changes some result: one without effect would be a lie in the config.
#include <algorithm>
#include <gtest/gtest.h>
#include <set>

#include "machine/description.h"
#include "support/simulated.h"
#include "support/sizes.h"

namespace uvmsim {
namespace {

using namespace testing_support;

// What a program can do to one GPU, once each: 32 MiB of managed memory on a GPU with 16 MiB, and 4 MiB of cudaMalloc.
// `peer`: another GPU of the process that gets a copy, or -1.
Program everything_once(int peer) {
  const VirtualAddress managed = kManagedBase, fresh = managed + 64 * kMiB;
  const VirtualAddress device = 1 << 21;  // below kManagedBase
  Program p;
  p.host_op = Duration{0};
  p.strings = {"kernel"};
  enum : std::uint32_t {
    kReadAll,
    kUpdateAll,
    kWriteFresh,
    kReadHead,
    kReadDevice,
    kReadStrided,
    kReadScattered,
    kWriteMostlyRead
  };
  p.options = {{.width = 4, .stride = 128, .count = 262144},  // each warp another page
               {.width = 4, .stride = 4096, .count = 4096}};  // each thread
  p.operands = {{managed, 32 * kMiB, trace::Mode::Read},
                {managed, 32 * kMiB, trace::Mode::ReadWrite},
                {fresh, 4 * kMiB, trace::Mode::Write},
                {managed, 4 * kMiB, trace::Mode::Read},
                {device, 4 * kMiB, trace::Mode::ReadWrite},
                {managed, 32 * kMiB, trace::Mode::Read, trace::Pattern::Strided, 1, 0},
                {managed + 4 * kMiB, 16 * kMiB, trace::Mode::Read, trace::Pattern::Strided, 1, 1},
                {managed + 8 * kMiB, 4 * kMiB, trace::Mode::Write}};
  const auto kernel = [](std::uint32_t operand, int block = 32, int grid = 0, int us = 200) {
    return op::Kernel{.name = 0,
                      .stream = 0,
                      .device = DeviceOrdinal{0},
                      .duration = microseconds(us),
                      .operands = {operand, 1},
                      .grid = grid,
                      .block = block,
                      .gap = Duration{0}};
  };
  const auto copy = [](trace::CopyDirection direction, int stream, int to = -1) {
    return op::Copy{.direction = direction,
                    .stream = stream,
                    .device = DeviceOrdinal{0},
                    .peer = to < 0 ? std::nullopt : std::optional(DeviceOrdinal{to}),
                    .bytes = 4 * kMiB,
                    .operands = {kReadDevice, 1},
                    .pinned = true,
                    .asynchronous = true};
  };
  p.ops = {
      op::Iteration{0},
      op::MallocManaged{managed, 32 * kMiB},
      op::MallocManaged{fresh, 4 * kMiB},
      op::MallocDevice{device, 4 * kMiB, DeviceOrdinal{0}},
      op::HostStep{Duration{0}, {kUpdateAll, 1}},
      kernel(kUpdateAll),               // CPU-mapped pages fault, oversubscribe and evict
      kernel(kUpdateAll, 256, 0, 100),  // pages that come back; 64 MiB of traffic take most of that time
      kernel(kWriteFresh),              // populated, not copied
      kernel(kReadStrided, 256, 1024),  // one thread per place: warps of a CTA that touch other pages, in two waves
      kernel(kReadScattered, 128, 32),  // CTAs of one group whose warps start in between each other
      op::Synchronize{-1},
      op::HostStep{Duration{0}, {kReadAll, 1}},  // CPU faults
      op::Prefetch{managed, 4 * kMiB, DeviceOrdinal{0}, 0},
      op::Prefetch{managed + 4 * kMiB, 4 * kMiB, DeviceOrdinal{0}, 0},  // on a busy stream
      kernel(kReadHead),
      op::Synchronize{-1},
      op::HostStep{Duration{0}, {kReadHead, 1}},
      op::Advise{managed, 4 * kMiB, 3, DeviceOrdinal{0}},
      kernel(kReadHead),         // over the link
      kernel(kReadHead, 32, 1),  // likewise, by one warp
      op::Synchronize{-1},
      op::HostStep{Duration{0}, {kWriteFresh, 1}},
      op::Advise{fresh, 4 * kMiB, 2, std::nullopt},  // prefers the host
      kernel(kWriteFresh),                           // faults map it there
      op::Advise{managed + 8 * kMiB, 4 * kMiB, 1, std::nullopt},
      op::Prefetch{managed + 8 * kMiB, 4 * kMiB, DeviceOrdinal{0}, 0},  // read-mostly pages of both
      kernel(kWriteMostlyRead),                                         // are written
      copy(trace::CopyDirection::HostToDevice, 1),
      copy(trace::CopyDirection::DeviceToHost, 2),  // both ways at once
      op::Synchronize{-1},
      op::FreeDevice{device, DeviceOrdinal{0}},
      op::FreeManaged{fresh},
      op::Synchronize{-1}};
  if (peer >= 0) p.ops.insert(p.ops.end() - 4, copy(trace::CopyDirection::PeerToPeer, 1, peer));  // staged: see outcome
  return p;
}

// Two GPUs of one switch without peer access, a process each, or one process over both, with these settings.
std::string outcome(const std::vector<std::string>& settings, bool one_process) {
  ChildProcess child([&] {
    std::vector<std::string> all = {"machine.gpus=2", "machine.gpu.usable_memory=16 MiB", "machine.peer_access=none"};
    all.insert(all.end(), settings.begin(), settings.end());
    const Machine machine =
        experiment_of(micro("dgx1_v100_32gb", R"("generator": "first_touch")", R"("version": "595.45.04")"), all)
            .machine;
    const Program program = everything_once(one_process ? 1 : -1);
    std::vector<Process> processes{{&program, {GpuIndex{0}, GpuIndex{1}}}};
    if (!one_process) processes = {{&program, {GpuIndex{0}}}, {&program, {GpuIndex{1}}}};
    RunOptions options;
    options.warmup = 0;
    return to_json(run(machine, processes, options));
  });
  return child.wait();
}

// The pointers of the numbers in the machine section that its description calls a time, a rate or a count.
void collect(const Description& description, const std::string& prefix, std::vector<std::string>& keys) {
  for (const FieldInfo& field : description.fields) {
    if (field.kind == FieldInfo::Kind::Section) collect(*field.section, prefix + field.name + ".", keys);
    if (field.kind == FieldInfo::Kind::TimeSpan || field.kind == FieldInfo::Kind::Bandwidth ||
        field.kind == FieldInfo::Kind::ByteCount || field.kind == FieldInfo::Kind::Integer32 ||
        field.kind == FieldInfo::Kind::Number)
      keys.push_back(prefix + field.name);
  }
}

std::vector<std::string> parameters() {
  std::vector<std::string> keys;
  collect(describe_gpu(), "machine.gpu.", keys);
  collect(describe_host(), "machine.host.", keys);
  const std::set<std::string> no_time = {
      "machine.gpu.memory",                      // as sold: usable_memory is what runs see
      "machine.gpu.fp32_flops",                  // these three are the workload generators' roofline
      "machine.gpu.fp16_tensor_flops",           //
      "machine.gpu.memory_bandwidth",            //
      "machine.gpu.fault.fault_buffer_entries",  // a capacity: 6 groups x 56 slots never fill 4096 entries
      "machine.gpu.copy.engines",                // streams of plans that swap to several memories
      "machine.host.cores",                      // of what plans have for the CPU
      "machine.host.memory"                      // a limit: a run that needs more ends
  };
  std::erase_if(keys, [&](const std::string& key) { return no_time.contains(key); });
  for (const char* key : {"down", "up", "down_duplex", "up_duplex", "sharing_efficiency"})
    keys.push_back("machine.links.3." + std::string(key));  // the uplink of both GPUs
  keys.push_back("machine.links.0.both");                   // their socket's memory
  keys.push_back("machine.peer_access");
  return keys;
}

// Another value for the parameter, as its config writes it.
std::string varied(const std::string& key) {
  if (key.ends_with("sharing_efficiency")) return key + "=[1, 0.8]";
  if (key.ends_with("peer_access")) return key + "=any";
  if (key.ends_with("page_size")) return key + "=64 KiB";
  if (key.ends_with("_duplex") || key.ends_with("both")) return key + "=5 GB/s";
  if (key.ends_with("sms_per_utlb") || key.ends_with("refused_writes_per_sm")) return key + "=1";
  const Experiment e =
      experiment_of(micro("dgx1_v100_32gb", R"("generator": "first_touch")", R"("version": "595.45.04")"));
  std::string pointer = "/" + key;
  std::ranges::replace(pointer, '.', '/');
  for (const ResolvedValue& value : e.resolved)
    if (value.pointer == pointer) {
      const std::string text = value.json.front() == '"' ? value.json.substr(1, value.json.size() - 2) : value.json;
      const double number = std::stod(text);
      const std::size_t unit = text.find(' ');
      if (number == 0) return key + "=1 us";
      if (unit == std::string::npos) return key + "=" + std::to_string(std::max(1, static_cast<int>(number) / 2));
      const double factor = text.ends_with("s") && !text.ends_with("/s") ? 10 : 0.5;  // times; rates and sizes
      return key + "=" + std::to_string(number * factor) + text.substr(unit);
    }
  ADD_FAILURE() << key << " is not in the resolved config";
  return key + "=1";
}

class Sensitivity : public ::testing::TestWithParam<std::string> {};

TEST_P(Sensitivity, ChangesAResult) {
  const std::string setting = varied(GetParam());
  // Only peers map what others allocate.
  const std::string access =
      GetParam().ends_with("malloc_peer") ? "machine.peer_access=any" : "machine.peer_access=none";
  for (const bool one_process : {false, true})
    if (outcome({access}, one_process) != outcome({access, setting}, one_process)) return;
  FAIL() << setting << " changes nothing";
}

std::string test_name(const ::testing::TestParamInfo<std::string>& parameter) {
  std::string name = parameter.param.substr(std::string("machine.").size());
  std::ranges::replace(name, '.', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Parameters, Sensitivity, ::testing::ValuesIn(parameters()), test_name);

// What the settings vary: a run that ends early would notice nothing.
TEST(SensitivityProbe, Completes) {
  for (const bool one_process : {false, true}) {
    const auto result = result_from_json(outcome({}, one_process));
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->outcome, Outcome::Completed) << result->detail;
    EXPECT_GT(result->gpus.at(0).counts.evicted_chunks, 0);
    EXPECT_GT(result->gpus.at(0).counts.cpu_faults, 0);
    EXPECT_GT(result->gpus.at(0).counts.remote_bytes, 0);
  }
}

}  // namespace
}  // namespace uvmsim
