#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "support/imported.h"

namespace uvmsim {
namespace {

const std::string kToday =
    "Thread,Time,Action,Pointer,Size,Stream\n"
    "2342727,15:47:02.841961,allocate,0x10012400000,1048576,0x2\n"
    "2342727,15:47:02.841970,allocate,0x10012500000,512,0\n"
    "2342727,15:47:02.841977,free,0x10012400000,1048576,0x2\n"
    "2342728,15:47:02.841980,allocate failure,(nil),99999999999,0x2\n"
    "2342728,15:47:02.841990,allocate,0x10012400000,256,0x2\n"
    "2342728,15:47:02.841995,free,0x30a000000,256,0x2\n";

TEST(Rmm, TodaysLogBecomesAllocationsAndFrees) {
  const trace::Trace trace = imported(kToday);
  EXPECT_EQ(records_text(trace),
            "[\"A\",1,1048576,7]\n"
            "[\"A\",2,512,7,{\"stream\":1}]\n"
            "[\"F\",1]\n"
            "[\"A\",3,256,7]\n");
  EXPECT_EQ(trace.header.operands_status, "none");
  EXPECT_THAT(trace.header.unknowns,
              testing::ElementsAre("1 allocations that failed: left out",
                                   "1 frees of what was allocated before the log began: left out"));
}

// The device of the log's third column becomes device 0 of the trace: it is the only one.
TEST(Rmm, TheLogOf2019NamesDevicesAndTheirMemory) {
  const trace::Trace trace = imported(
      "Event Type,Device ID,Address,Stream,Size (bytes),Free Memory,Total Memory,Current Allocs,Start,End,Elapsed\n"
      "Alloc,3,0x7fae06600000,0,80,0,34089730048,1,1.10549,1.1074,0.00191666\n"
      "Free,3,0x7fae06600000,0,0,0,0,0,1.10798,1.10921,0.00122238\n");
  EXPECT_EQ(records_text(trace), "[\"A\",1,80,7]\n[\"F\",1]\n");
  ASSERT_EQ(trace.header.devices.size(), 1u);
  EXPECT_EQ(trace.header.devices[0].memory_bytes, 34089730048);
}

TEST(Rmm, AnAddressTakenAgainEndsTheAllocationBefore) {
  const trace::Trace trace = imported(
      "Thread,Time,Action,Pointer,Size,Stream\n"
      "1,0,allocate,0x1000,4096,0\n"
      "1,0,allocate,0x1800,4096,0\n");
  EXPECT_EQ(records_text(trace), "[\"A\",1,4096,7]\n[\"F\",1]\n[\"A\",2,4096,7]\n");
  EXPECT_EQ(trace.header.unknowns.size(), 1u);
}

TEST(Rmm, EveryBadLineIsNamed) {
  EXPECT_EQ(import_errors("Thread,Time,Action,Pointer,Size,Stream\n"
                          "1,0,allocate,zero,16,0\n"
                          "1,0,allocate,0x10,16\n"
                          "1,0,grow,0x10,16,0\n"
                          "1,0,allocate,0x10,-5,0\n"),
            "f:2: expected an address, found \"zero\"\n"
            "f:3: expected 6 columns, found 5\n"
            "f:4: expected allocate, free or allocate failure, found \"grow\"\n"
            "f:5: expected an allocation's bytes of 1..281474976710656, found -5");
}

// `text` as gzip packs it.
std::string packed(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(text.size() + 256, '\0');
  std::string in = text;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST(Import, GzipIsUnpackedAndACutIsNoticed) {
  const std::string half = kToday.substr(0, kToday.size() / 2), rest = kToday.substr(kToday.size() / 2);
  EXPECT_EQ(records_text(imported(packed(kToday))), records_text(imported(kToday)));
  EXPECT_EQ(records_text(imported(packed(half) + packed(rest))), records_text(imported(kToday)));  // two members
  const std::string whole = packed(kToday);
  EXPECT_THAT([&] { imported(whole.substr(0, whole.size() - 8)); },
              testing::ThrowsMessage<UserError>(testing::HasSubstr("the gzip data ends inside a member")));
}

TEST(Import, AFileOfNoKnownFormatIsRefusedWithTheKnownOnes) {
  EXPECT_THAT(import_errors("hello\n"), testing::StartsWith("f: is none of the known formats: "));
  EXPECT_THAT(import_errors({ImportFile::of("f", kToday)}, "rm"), testing::HasSubstr("did you mean \"rmm\"?"));
  EXPECT_THAT(import_errors({ImportFile::at("no/such/file")}), testing::HasSubstr("cannot be opened: No such file"));
}

}  // namespace
}  // namespace uvmsim
