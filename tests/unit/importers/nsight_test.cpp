#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/imported.h"
#include "support/nsight_export.h"

namespace uvmsim {
namespace {

// As nsys 2024.6 exports (schema 3.16.1). Managed memory of 8 MiB at 0x10000000, of which the kernel (correlation 11,
// 5000..9000 ns, called at 1000) pulls in 2 MiB and writes the page at its start of the second 2 MiB.
const std::string k2024 = R"sql(
CREATE TABLE META_DATA_EXPORT(name TEXT, value TEXT);
INSERT INTO META_DATA_EXPORT VALUES('EXPORT_SCHEMA_VERSION','3.16.1');
CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES(1,'add(float*, int)'),(2,'add'),(3,'cudaLaunchKernel');
CREATE TABLE TARGET_INFO_GPU(id INTEGER, name TEXT, totalMemory INTEGER, memoryBandwidth INTEGER);
INSERT INTO TARGET_INFO_GPU VALUES(0,'Tesla V100-SXM2-16GB',16945709056,898048000000);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, "end" INTEGER, eventClass INTEGER, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(100,500,0,1,10,3,0),(1000,1400,0,1,11,3,0),(2000,9500,0,1,12,3,0);
CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS(start INTEGER, globalPid INTEGER, deviceId INTEGER, contextId INTEGER,
  address INTEGER, pc INTEGER, bytes INTEGER, memKind INTEGER, memoryOperationType INTEGER, name INTEGER,
  correlationId INTEGER, streamId INTEGER);
INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES(450,1,0,1,268435456,0,8388608,4,0,NULL,10,NULL),
  (9900,1,0,1,268435456,0,8388608,4,1,NULL,13,NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, "end" INTEGER, deviceId INTEGER, contextId INTEGER,
  greenContextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER,
  shortName INTEGER, mangledName INTEGER, registersPerThread INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER,
  blockX INTEGER, blockY INTEGER, blockZ INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(5000,9000,0,1,NULL,7,11,1,1,2,2,16,64,2,1,256,1,1,1024,512);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER, "end" INTEGER, deviceId INTEGER, contextId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER,
  dstKind INTEGER, migrationCause INTEGER, virtualAddress INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(6000,7000,0,1,0,0,1,2097152,11,4,4,2,268435456);
CREATE TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS(start INTEGER, "end" INTEGER, globalPid INTEGER, deviceId INTEGER,
  address INTEGER, numberOfPageFaults INTEGER, faultAccessType INTEGER);
INSERT INTO CUDA_UM_GPU_PAGE_FAULT_EVENTS VALUES(7500,7600,1,0,270532608,3,2);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start INTEGER, "end" INTEGER, deviceId INTEGER, contextId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER, eventId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES(2100,9400,0,1,0,12,1,4,0);
)sql";

// The host's own time is 500..1000 before the launch and 1400..2000 before the wait.
TEST(Nsight, KernelsGetWhatTheyWereSeenToTouch) {
  const trace::Trace trace = imported(database_of(k2024));
  EXPECT_EQ(records_text(trace),
            "[\"A\",1,8388608,7,{\"space\":\"m\"}]\n"
            "[\"H\",0,0,[[1,2,0,0,2097152]]]\n"
            "[\"S\",0,\"add(float*, int)\"]\n"
            "[\"K\",0,1,4000,[[1,3,0,0,2101248]],{\"grid\":128,\"blk\":256,\"regs\":16,\"smem\":1536,\"gap\":500}]\n"
            "[\"H\",600,0,[]]\n"
            "[\"Y\",-1]\n"
            "[\"F\",1]\n");
  EXPECT_EQ(trace.header.operands_status, "lower_bound");
  EXPECT_THAT(trace.header.provenance, testing::HasSubstr("3.16.1"));
  EXPECT_THAT(trace.header.durations, testing::HasSubstr("took the faults' time, too"));
  EXPECT_EQ(trace.header.devices.at(0).name, "Tesla V100-SXM2-16GB");
  EXPECT_EQ(trace.header.devices.at(0).bandwidth, 898048000000.0);
  EXPECT_EQ(trace.header.host_op_ns, 400);
  EXPECT_THAT(trace.header.unknowns,
              testing::ElementsAre("2097152 B of unified memory came in where it was recorded, 0 B left and 0 B of "
                                   "these were evicted: the GPU's memory was enough",
                                   "1 allocations: the host is taken to have written what later moved to a GPU",
                                   "1 migrations of unified memory: left out, the simulator makes its own"));
}

// The same with two migrations to the host, of which one made room for others (cause 4).
TEST(Nsight, SaysWhetherMemoryWasEvicted) {
  const trace::Trace trace = imported(database_of(k2024 + R"sql(
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(7600,7700,0,1,0,0,1,1048576,12,4,4,4,268435456);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(9600,9700,0,1,0,0,1,4096,12,4,4,2,269484032);
)sql"));
  EXPECT_THAT(
      trace.header.unknowns,
      testing::Contains("2097152 B of unified memory came in where it was recorded, 1052672 B left and 1048576 B "
                        "of these were evicted: the GPU's memory was oversubscribed"));
}

// An older report: no allocations, no names but short ones, no calls, explicit copies from pageable memory.
TEST(Nsight, OlderExportsHaveFewerTablesAndColumns) {
  const trace::Trace trace = imported(database_of(R"sql(
CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES(2,'add');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, "end" INTEGER, deviceId INTEGER, streamId INTEGER,
  correlationId INTEGER, shortName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER,
  blockY INTEGER, blockZ INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(5000,9000,0,7,11,2,64,1,1,256,1,1);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER, "end" INTEGER, deviceId INTEGER, streamId INTEGER,
  correlationId INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(1000,2000,0,7,10,4096,1,0,2),(2500,2600,0,7,12,64,9,0,0);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(start INTEGER, "end" INTEGER, deviceId INTEGER, streamId INTEGER, bytes INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES(3000,3100,0,7,512);
)sql"));
  EXPECT_EQ(records_text(trace),
            "[\"C\",0,0,4096,[],{\"pinned\":0}]\n"
            "[\"C\",4,0,512,[]]\n"
            "[\"S\",0,\"add\"]\n"
            "[\"K\",0,0,4000,[],{\"grid\":64,\"blk\":256}]\n");
  EXPECT_EQ(trace.header.operands_status, "none");
  EXPECT_THAT(
      trace.header.unknowns,
      testing::ElementsAre("1 copies within the host or of unknown kind: left out",
                           "3 kernels and copies: no call is recorded; they stand behind what ran before them on "
                           "their stream",
                           "1 kernels: their operands are not known; they touch nothing"));
}

// The host wrote what moves to the GPU, and takes back a part in the end. As nsys 2022.2 exports: the version under
// another name, managed memory without CUDA_GPU_MEMORY_USAGE_EVENTS. 4 MiB are prefetched at 0x10000000 by the call at
// 800 in two migrations; the kernel (5000..9000) pulls in 64 KiB at 0x20000000; the host takes back 4 KiB at 0x10300000
// afterwards. A block was evicted, which says nothing of the kernel.
const std::string k2022 = R"sql(
CREATE TABLE EXPORT_META_DATA(name TEXT, value TEXT);
INSERT INTO EXPORT_META_DATA VALUES('EXPORT_SCHEMA_VERSION','2.7.1');
CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES(1,'add'),(2,'cudaMallocManaged_v6000'),(3,'cudaMemPrefetchAsync_v8000'),(4,'cudaLaunchKernel');
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, "end" INTEGER, globalTid INTEGER, correlationId INTEGER,
  nameId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(100,500,16777217,9,2),(800,900,16777217,10,3),(1000,1400,16777217,11,4),
  (50,60,33554433,11,4);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, "end" INTEGER, deviceId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, shortName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER,
  blockX INTEGER, blockY INTEGER, blockZ INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(5000,9000,0,7,11,16777216,1,64,1,1,256,1,1);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER, "end" INTEGER, deviceId INTEGER, streamId INTEGER,
  correlationId INTEGER, bytes INTEGER, copyKind INTEGER, migrationCause INTEGER, virtualAddress INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(2000,2500,0,0,0,2097152,11,1,268435456),
  (2500,3000,0,0,0,2097152,11,1,270532608),(6000,6100,0,0,0,65536,11,2,536870912),
  (6200,6300,0,0,0,2097152,12,4,270532608),(9500,9600,0,0,0,4096,12,2,271581184);
)sql";

// The kernel of process 1 was called at 1000; the call at 50 with the same correlation is of process 2.
TEST(Nsight, WithoutAllocationsMigrationsSayWhatKernelsTouch) {
  const trace::Trace trace = imported(database_of(k2022));
  EXPECT_EQ(records_text(trace),
            "[\"A\",1,4194304,7,{\"space\":\"m\"}]\n"
            "[\"H\",0,0,[[1,2,0]]]\n"
            "[\"A\",2,65536,7,{\"space\":\"m\"}]\n"
            "[\"H\",0,0,[[2,2,0]]]\n"
            "[\"P\",1,0,-1,0,1]\n"
            "[\"S\",0,\"add\"]\n"
            "[\"K\",0,1,4000,[[1,1,0],[2,1,0]],{\"grid\":64,\"blk\":256,\"gap\":440}]\n"
            "[\"H\",0,0,[[1,1,0,3145728,4096]]]\n");
  EXPECT_EQ(trace.header.operands_status, "lower_bound");
  EXPECT_THAT(trace.header.provenance, testing::HasSubstr("2.7.1"));
  EXPECT_THAT(trace.header.durations, testing::HasSubstr("took the faults' time, too"));
  EXPECT_THAT(trace.header.unknowns, testing::Contains(testing::HasSubstr("2 ranges of managed memory: found where")));
}

// One-sided data: nothing moved while the kernel ran, so its time is that in core.
TEST(Nsight, PrefetchedKernelsKeepTheirTime) {
  std::string sql = k2022;
  sql.replace(sql.find("(6000,6100"), 10, "(4000,4100");
  EXPECT_THAT(imported(database_of(sql)).header.durations, testing::Not(testing::HasSubstr("faults")));
}

// The kernel at 5000 was called at 1000 on thread 16777217 within "layer1", which stands in "step 1"; NVTX of another
// domain is a library's. The second one is of a CUDA graph: its node was made in "layer2".
const std::string kMarked = R"sql(
CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES(1,'add'),(2,'layer1'),(3,'cudaLaunchKernel'),(4,'ncclDevKernel_AllGather_RING_LL(x)');
CREATE TABLE NVTX_EVENTS(start INTEGER, "end" INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, domainId INTEGER,
  textId INTEGER, binaryData BLOB);
INSERT INTO NVTX_EVENTS VALUES(0,NULL,75,'NCCL',16777217,3,NULL,NULL),(300,1900,59,'step 1',16777217,NULL,NULL,NULL),
  (900,1300,59,NULL,16777217,0,2,NULL),(950,1300,59,'cublas call',16777217,9,NULL,NULL),
  (100,200,59,'layer2',16777217,0,NULL,NULL);
CREATE TABLE CUDA_GRAPH_NODE_EVENTS(start INTEGER, "end" INTEGER, globalTid INTEGER, graphNodeId INTEGER,
  originalGraphNodeId INTEGER);
INSERT INTO CUDA_GRAPH_NODE_EVENTS VALUES(150,151,16777217,70,NULL),(250,251,16777217,71,70);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, "end" INTEGER, globalTid INTEGER, correlationId INTEGER,
  nameId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(1000,1400,16777217,11,3),(1500,1600,16777217,12,3),
  (1700,1800,16777217,13,3);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, "end" INTEGER, deviceId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, shortName INTEGER, graphNodeId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(5000,9000,0,7,11,16777216,1,NULL),(9000,9500,0,7,12,16777216,1,71);
)sql";

TEST(Nsight, RangesAreLayersAndIterations) {
  EXPECT_EQ(records_text(imported(database_of(kMarked))),
            "[\"I\",0]\n"
            "[\"S\",0,\"layer1\"]\n[\"L\",0]\n[\"S\",1,\"add\"]\n[\"K\",1,0,4000,[]]\n"
            "[\"S\",2,\"layer2\"]\n[\"L\",2]\n[\"K\",1,0,500,[],{\"gap\":100}]\n");
}

// Graphs that are recorded as a whole take their time, too, where they stand.
TEST(Nsight, AWholeCudaGraphIsAKernel) {
  const trace::Trace trace = imported(database_of(kMarked + R"sql(
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start INTEGER, "end" INTEGER, deviceId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES(9600,9800,0,7,13,16777216);
)sql"));
  EXPECT_THAT(records_text(trace), testing::HasSubstr("\"CUDA graph, recorded as a whole\"]\n[\"K\",4,0,200,[]"));
  EXPECT_THAT(trace.header.unknowns, testing::Contains(testing::HasSubstr("--cuda-graph-trace=node")));
}

// NCCL's call on thread 16777217 before the launch: 1024 bytes of each of 4 ranks, as the payload of its communicator
// said (schema 5: the communicator at 0, the ranks at 8; schema 6: the bytes at 8). As little-endian bytes: domain, 0,
// schema, 0, the payload's size, all of it, the payload.
TEST(Nsight, KernelsOfNcclAreCollectivesWhereTheirCallSaysItsBytes) {
  const std::string calls = R"sql(
CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES(domainId INTEGER, schemaId INTEGER, idx INTEGER, name TEXT, offset INTEGER);
INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES(3,5,0,'NCCL communicator ID',NULL),(3,5,1,'No. of ranks',8),
  (3,6,0,'NCCL communicator ID',NULL),(3,6,1,'Message size [bytes]',8);
INSERT INTO NVTX_EVENTS VALUES
  (10,20,59,'ncclCommInitRank',16777217,3,NULL,
    x'0300000000000000050000000000000010000000000000003000000000000000EFBE0000000000000400000000000000'),
  (1650,1660,59,'ncclAllGather',16777217,3,NULL,
    x'0300000000000000060000000000000010000000000000003000000000000000EFBE0000000000000004000000000000');
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(9600,9900,0,20,13,16777216,4,NULL);
)sql";
  const std::string text = records_text(imported(database_of(kMarked + calls)));
  EXPECT_THAT(text, testing::EndsWith("[\"H\",100,0,[]]\n[\"X\",2,0,1,4096,[],{\"ranks\":4,\"dur\":300}]\n"));
  const trace::Trace without = imported(database_of(kMarked + calls + "UPDATE NVTX_EVENTS SET binaryData = NULL;"));
  EXPECT_THAT(records_text(without), testing::HasSubstr("ncclDevKernel_AllGather_RING_LL(x)"));
  EXPECT_THAT(without.header.unknowns, testing::Contains(testing::HasSubstr("1 kernels of NCCL: of how many bytes")));
}

TEST(Nsight, ValuesOfAnotherTypeAreNamed) {
  std::string sql = k2022;
  sql.replace(sql.find("VALUES(5000,9000"), 16, "VALUES('5 us',9000");
  EXPECT_EQ(import_errors(database_of(sql)),
            "f: CUPTI_ACTIVITY_KIND_KERNEL, row 1, \"start\": expected a whole number, found \"5 us\"");
  sql = k2022;
  sql.replace(sql.find("VALUES(5000,9000"), 16, "VALUES(5000,NULL");
  EXPECT_EQ(import_errors(database_of(sql)),
            "f: CUPTI_ACTIVITY_KIND_KERNEL, row 1, \"end\": expected a whole number, found none");
}

TEST(Nsight, OtherFilesOfItAreNamedWithWhatConvertsThem) {
  EXPECT_THAT(import_errors("NVIDIA Tegra Profiler Report 1.\n"), testing::HasSubstr("nsys export --type sqlite"));
  EXPECT_THAT(import_errors(std::string(257, '\0') + "ustar" + std::string(250, '\0')),
              testing::HasSubstr("a tar archive"));
}

TEST(Nsight, ADatabaseWithoutKernelsOrABrokenOneIsRefused) {
  EXPECT_THAT(import_errors(database_of("CREATE TABLE a(b)")),
              testing::HasSubstr("expected the table CUPTI_ACTIVITY_KIND_KERNEL"));
  std::string bytes = database_of(k2024);
  for (std::size_t i = 100; i < 4096; ++i) bytes[i] = static_cast<char>(0x5a);
  EXPECT_THAT(import_errors(bytes), testing::StartsWith("f: the database cannot be read: "));
}

// A kernel that ends before it starts cannot be.
TEST(Nsight, ValuesThatATraceCannotHoldAreRefused) {
  std::string sql = k2024;
  sql.replace(sql.find("VALUES(5000,9000"), 16, "VALUES(9000,5000");
  EXPECT_EQ(import_errors(database_of(sql)), "f: expected a kernel's time in ns of 0..1000000000000000, found -4000");
}

}  // namespace
}  // namespace uvmsim
