#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/imported.h"
#include "support/snapshot_pickle.h"

namespace uvmsim {
namespace {

// The block held from before the history: 1024 B of the allocator's, of which 1000 B were asked for.
TEST(MemorySnapshot, TheHistoryBecomesAllocationsAndFrees) {
  for (const std::string& snapshot : {kSnapshot2, kSnapshot4}) {
    const trace::Trace trace = imported(snapshot);
    EXPECT_EQ(records_text(trace),
              "[\"A\",1,1000,7]\n"
              "[\"A\",2,512,7]\n"
              "[\"F\",2]\n"
              "[\"A\",3,512,7]\n"
              "[\"A\",4,2048,7,{\"stream\":1}]\n"
              "[\"F\",4]\n");
    EXPECT_THAT(
        trace.header.unknowns,
        testing::ElementsAre("1 allocations that failed: left out",
                             "1 driver allocations of the snapshot: left out, the simulator runs its own allocator",
                             "2 tensors: allocated before the history began"));
  }
}

// os.system("x") as a pickle: c os\nsystem\n (X 1 x t R .
TEST(MemorySnapshot, CodeIsNotRun) {
  const std::string hostile("\x80\x02}X\x08\0\0\0segmentscos\nsystem\n(X\x01\0\0\0xtRs.", 39);
  EXPECT_EQ(import_errors(hostile),
            "f: byte 16: expected plain data, found an opcode 99 that names or runs code; it is not run");
}

TEST(MemorySnapshot, ACutSnapshotAndAnotherPickleAreRefused) {
  EXPECT_THAT(import_errors(kSnapshot4.substr(0, kSnapshot4.size() / 2)), testing::HasSubstr("it was cut short"));
  EXPECT_EQ(import_errors(std::string("\x80\x02X\x08\0\0\0segments.", 16)),
            "f: expected a dict with the list \"segments\": a memory snapshot");
}

}  // namespace
}  // namespace uvmsim
