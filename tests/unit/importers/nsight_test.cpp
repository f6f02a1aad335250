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
              testing::ElementsAre("1 migrations of unified memory: left out, the simulator makes its own"));
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
  EXPECT_THAT(trace.header.unknowns,
              testing::ElementsAre("1 copies within the host or of unknown kind: left out",
                                   "3 kernels and copies: no call is recorded; they stand where they began",
                                   "1 kernels: their operands are not known; they touch nothing"));
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
