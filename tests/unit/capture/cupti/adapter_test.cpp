// The CUPTI adapter against a fake CUPTI: calls and records go in, lines of a file come out. A process has one session,
// so each test runs in a process of its own, as ctest and `run` below do.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

#include "cupti/layouts.h"
#include "fake_cupti.h"
#include "uvmcap.h"

extern "C" int InitializeInjection(void);

namespace uvmcap {
namespace {

// The lines that a recorded process leaves, without their times.
std::string run(const std::function<void()>& program, const char* kinds = nullptr) {
  std::string name = std::filesystem::temp_directory_path() / "uvmcap_XXXXXX";
  const std::filesystem::path folder = mkdtemp(name.data());
  const pid_t child = fork();
  if (child == 0) {
    setenv("UVMCAP_OUT", (folder / "out.jsonl").c_str(), 1);
    if (kinds != nullptr) setenv("UVMCAP_KINDS", kinds, 1);
    if (InitializeInjection() != 1) std::_Exit(1);
    program();
    std::exit(0);
  }
  waitpid(child, nullptr, 0);
  std::ifstream file(folder / "out.jsonl");
  std::string lines;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("{\"k\":\"header\"")) continue;
    for (const char* key : {"\"t\":", "\"e\":"}) {
      const std::size_t at = line.find(key);
      if (at == std::string::npos || line.starts_with("{\"k\":\"kernel\"") || line.starts_with("{\"k\":\"mem"))
        continue;
      line.erase(at, line.find_first_of(",}", at) + (line[line.find_first_of(",}", at)] == ',' ? 1 : 0) - at);
    }
    lines += line + "\n";
  }
  std::filesystem::remove_all(folder);
  return lines;
}

CUstream stream(std::uintptr_t id) { return reinterpret_cast<CUstream>(id); }

void allocate_managed(std::uint64_t address, std::size_t bytes, CUresult result = CUDA_SUCCESS) {
  CUdeviceptr pointer = address;
  const cuMemAllocManaged_params parameters{&pointer, bytes, 1};
  fake::call(CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged, &parameters, 1, result);
}

TEST(Adapter, FollowsAllocationsAndTheirFailures) {
  const std::string lines = run([] {
    allocate_managed(4096, 64);
    allocate_managed(8192, 65, CUDA_ERROR_OUT_OF_MEMORY);
    const cuMemFree_v2_params free{4096};
    fake::call(CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2, &free, 2);
  });
  EXPECT_EQ(lines,
            "{\"k\":\"alloc\",\"th\":0,\"c\":1,\"a\":4096,\"bytes\":64,\"mem\":\"managed\"}\n"
            "{\"k\":\"alloc\",\"th\":0,\"c\":1,\"rc\":2,\"a\":0,\"bytes\":65,\"mem\":\"managed\"}\n"
            "{\"k\":\"free\",\"th\":0,\"c\":2,\"a\":4096}\n"
            "{\"k\":\"end\",\"host\":3,\"gpu\":0,\"dropped\":0}\n");
}

TEST(Adapter, FindsBuffersInPackedArgumentsAndNamesTheOperator) {
  const std::string lines = run([] {
    allocate_managed(4096, 64);
    std::array<std::uint64_t, 2> buffer = {4100, 9};
    std::size_t bytes = sizeof buffer;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer.data(), CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    cuLaunchKernel_params launch{};
    launch.hStream = stream(13);
    launch.extra = extra;
    uvmcap_push(17);
    fake::call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &launch, 2);
    uvmcap_pop();
    launch.extra = nullptr;  // no driver here says how the arguments lie
    void* parameters[] = {buffer.data()};
    launch.kernelParams = parameters;
    launch.hStream = nullptr;
    fake::call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz, &launch, 3);
  });
  EXPECT_NE(lines.find("{\"k\":\"stream\",\"st\":13,\"ctx\":1,\"dev\":0}\n"
                       "{\"k\":\"launch\",\"th\":0,\"c\":2,\"st\":13,\"ptr\":[4100],\"op\":17}\n"
                       "{\"k\":\"stream\",\"st\":8,\"ctx\":1,\"dev\":0}\n"
                       "{\"k\":\"launch\",\"th\":0,\"c\":3,\"st\":8}\n"),
            std::string::npos)
      << lines;
}

TEST(Adapter, ReadsTheArgumentsOfBothVersionsOfHints) {
  const std::string lines = run([] {
    const cuMemPrefetchAsync_params old{4096, 64, CU_DEVICE_CPU, stream(13)};
    fake::call(CUPTI_DRIVER_TRACE_CBID_cuMemPrefetchAsync, &old, 1);
    cuMemPrefetchAsync_v2_params prefetch{};
    prefetch.devPtr = 4096;
    prefetch.count = 65;
    prefetch.location = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
    prefetch.hStream = stream(13);
    fake::call(CUPTI_DRIVER_TRACE_CBID_cuMemPrefetchAsync_v2, &prefetch, 2);
    const cuMemAdvise_params advise{4096, 66, CU_MEM_ADVISE_SET_ACCESSED_BY, 0};
    fake::call(CUPTI_DRIVER_TRACE_CBID_cuMemAdvise, &advise, 3);
  });
  EXPECT_NE(
      lines.find(
          "{\"k\":\"prefetch\",\"th\":0,\"c\":1,\"st\":13,\"a\":4096,\"bytes\":64,\"to\":-1}\n"
          "{\"k\":\"prefetch\",\"th\":0,\"c\":2,\"st\":13,\"a\":4096,\"bytes\":65,\"to\":1}\n"
          "{\"k\":\"advise\",\"th\":0,\"c\":3,\"a\":4096,\"bytes\":66,\"advice\":\"set_accessed_by\",\"to\":0}\n"),
      std::string::npos)
      << lines;
}

#if CUDA_VERSION >= 13000
// Two locations: the first holds for ranges 0 and 1, the second from range 2 on.
TEST(Adapter, GivesEachRangeOfABatchItsPlace) {
  const std::string lines = run([] {
    std::array<CUdeviceptr, 3> addresses = {4096, 8192, 12288};
    std::array<std::size_t, 3> sizes = {1, 2, 3};
    std::array<CUmemLocation, 2> places = {CUmemLocation{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                           CUmemLocation{CU_MEM_LOCATION_TYPE_HOST, 0}};
    std::array<std::size_t, 2> from = {0, 2};
    const cuMemPrefetchBatchAsync_params batch{addresses.data(), sizes.data(), 3, places.data(), from.data(), 2, 0,
                                               stream(13)};
    fake::call(CUPTI_DRIVER_TRACE_CBID_cuMemPrefetchBatchAsync, &batch, 1);
    const cuMemDiscardBatchAsync_params discard{addresses.data(), sizes.data(), 1, 0, stream(13)};
    fake::call(CUPTI_DRIVER_TRACE_CBID_cuMemDiscardBatchAsync, &discard, 2);
  });
  EXPECT_NE(lines.find("\"a\":4096,\"bytes\":1,\"to\":0}\n"), std::string::npos) << lines;
  EXPECT_NE(lines.find("\"a\":8192,\"bytes\":2,\"to\":0}\n"), std::string::npos) << lines;
  EXPECT_NE(lines.find("\"a\":12288,\"bytes\":3,\"to\":-1}\n"), std::string::npos) << lines;
  EXPECT_NE(lines.find("{\"k\":\"discard\",\"th\":0,\"c\":2,\"st\":13,\"a\":4096,\"bytes\":1}\n"), std::string::npos)
      << lines;
}
#endif

// 3 rows of 16 bytes, from the second row on: first byte at row 1 of pitch 32, and 4 bytes in.
TEST(Adapter, CountsWhatACopyOfRowsMoves) {
  const std::string lines = run([] {
    CUDA_MEMCPY2D rows{};
    rows.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    rows.srcDevice = 4096;
    rows.srcPitch = 32;
    rows.srcY = 1;
    rows.srcXInBytes = 4;
    rows.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    rows.WidthInBytes = 16;
    rows.Height = 3;
    const cuMemcpy2DAsync_v2_params copy{&rows, stream(13)};
    fake::call(CUPTI_DRIVER_TRACE_CBID_cuMemcpy2DAsync_v2, &copy, 1);
  });
  EXPECT_NE(lines.find("{\"k\":\"copy\",\"th\":0,\"c\":1,\"st\":13,\"dst\":0,\"src\":4132,\"bytes\":48}\n"),
            std::string::npos)
      << lines;
}

TEST(Adapter, SaysWhenAWaitBeganAndEnded) {
  const std::string lines = run([] {
    const cuStreamSynchronize_params wait{stream(13)};
    fake::call(CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, &wait, 5);
  });
  EXPECT_NE(lines.find("{\"k\":\"sync\",\"th\":0,\"c\":5,\"of\":\"stream\",\"st\":13}\n"), std::string::npos) << lines;
}

TEST(Adapter, DecodesRecordsAndCountsLostOnes) {
  const std::string lines = run([] {
    KernelRecord kernel{};
    kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    kernel.name = "_Z3addPfi";
    kernel.correlationId = 3;
    kernel.streamId = 13;
    kernel.start = 10;
    kernel.end = 20;
    kernel.gridX = kernel.gridY = kernel.gridZ = kernel.blockX = kernel.blockY = kernel.blockZ = 2;
    kernel.registersPerThread = 16;
    kernel.staticSharedMemory = 100;
    kernel.dynamicSharedMemory = 28;
    MemsetRecord set{};
    set.kind = CUPTI_ACTIVITY_KIND_MEMSET;
    set.bytes = 64;
    set.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
    fake::deliver({reinterpret_cast<const CUpti_Activity*>(&kernel), reinterpret_cast<const CUpti_Activity*>(&set)}, 4);
  });
  EXPECT_EQ(lines,
            "{\"k\":\"str\",\"i\":0,\"s\":\"add(float*, int)\"}\n"
            "{\"k\":\"kernel\",\"c\":3,\"n\":0,\"dev\":0,\"st\":13,\"s\":10,\"e\":20,\"grid\":[2,2,2],\"blk\":[2,2,2],"
            "\"regs\":16,"
            "\"smem\":128}\n"
            "{\"k\":\"memset\",\"c\":0,\"dev\":0,\"st\":0,\"s\":0,\"e\":0,\"bytes\":64,\"mem\":\"managed\"}\n"
            "{\"k\":\"dropped\",\"n\":4}\n"
            "{\"k\":\"end\",\"host\":0,\"gpu\":2,\"dropped\":4}\n");
}

TEST(Adapter, NamesTheProfilerThatHoldsCupti) {
  const std::string lines = run([] {});
  EXPECT_EQ(lines.find("error"), std::string::npos);
  fake::cupti().subscribe_result = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  fake::cupti().holder = "Nsight Systems";
  const std::string refused = run([] { allocate_managed(4096, 64); });
  fake::cupti() = {};
  EXPECT_NE(refused.find("{\"k\":\"error\",\"text\":\"Nsight Systems already holds CUPTI"), std::string::npos)
      << refused;
  EXPECT_NE(refused.find("\"holder\":\"Nsight Systems\"}\n"), std::string::npos) << refused;
  EXPECT_EQ(refused.find("alloc"), std::string::npos) << refused;
}

TEST(Adapter, CountsUnifiedMemoryOnlyWhenAskedAndOnceTheDriverIsReady) {
  const auto initialize = [] {
    CUpti_ResourceData data{};
    for (int i = 0; i < 2; ++i) {
      fake::cupti().callback(nullptr, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, &data);
    }
    const auto& kinds = fake::cupti().kinds;
    uvmcap_mark(
        std::to_string(std::count(kinds.begin(), kinds.end(), CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER)).c_str());
  };
  EXPECT_NE(run(initialize).find("\"text\":\"0\""), std::string::npos);
  const std::string asked = run(initialize, "kernel,um");
  EXPECT_NE(asked.find("\"text\":\"1\""), std::string::npos);
  EXPECT_NE(asked.find("thrashing, throttling"), std::string::npos) << "the fake has four kinds only";
}

}  // namespace
}  // namespace uvmcap
