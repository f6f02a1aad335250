#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/trace_text.h"
#include "trace/error_list.h"
#include "trace/format.h"

namespace uvmsim::trace {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// What the reader says of one line after a header.
std::string error_of(const std::string& line) { return errors_of(kTestHeader + line + "\n"); }

TEST(TraceError, SaysWhatWasExpectedAndWhere) {
  EXPECT_EQ(error_of(R"(["F",abc])"), "t:2: column 6: expected a tensor's id, an integer 0 or more, found abc");
  EXPECT_EQ(error_of(R"(["F",-3])"), "t:2: column 6: expected a tensor's id, an integer 0 or more, found -3");
  EXPECT_EQ(error_of(R"(["F",1.5])"), "t:2: column 6: expected a tensor's id, an integer 0 or more, found 1.5");
  EXPECT_EQ(error_of(R"(["F",1e3])"), "t:2: column 6: expected a tensor's id, an integer 0 or more, found 1e3");
  EXPECT_EQ(error_of(R"(["F",007])"), "t:2: column 6: expected a tensor's id, an integer 0 or more, found 007");
  EXPECT_EQ(error_of(R"(["F",9223372036854775808])"),
            "t:2: column 6: expected a tensor's id, an integer 0 or more, found 9223372036854775808");
  EXPECT_EQ(error_of(R"(["F"])"), "t:2: column 5: expected a tensor's id, found ]");
  EXPECT_EQ(error_of(R"(["F",1,2])"), "t:2: column 8: expected an object of options after the last value, found 2");
  EXPECT_EQ(error_of(R"(["F",1)"), "t:2: column 7: expected \"]\", found the end of the line");
  EXPECT_EQ(error_of(R"(["F",1]])"), "t:2: column 8: expected the end of the line, found ]");
  EXPECT_EQ(error_of(R"({"F":1})"), "t:2: column 1: expected \"[\", found {\"F\":1");
  EXPECT_EQ(error_of("[\"F\",1\x01\xff"), "t:2: column 7: expected \"]\", found \\x01\\xff");
}

TEST(TraceError, ANulByteIsNoEnd) {
  EXPECT_EQ(error_of(std::string("[\"Y\"]\0", 6)), "t:2: column 6: expected the end of the line, found \\x00");
  EXPECT_EQ(error_of(std::string("[\"Y\"\0]", 6)), "t:2: column 5: expected \",\" or \"]\", found \\x00");
}

TEST(TraceError, ChecksEveryNumberAgainstItsRange) {
  EXPECT_EQ(error_of(R"(["C",5,0,1])"), "t:2: column 6: expected a copy's direction, an integer 0..4, found 5");
  EXPECT_EQ(error_of(R"(["A",1,-64])"),
            "t:2: column 8: expected the tensor's bytes, an integer 0..281474976710656, found -64");
  EXPECT_EQ(error_of(R"(["K",0,2147483648,0])"),
            "t:2: column 8: expected a stream, an integer 0..2147483647, found 2147483648");
  EXPECT_EQ(error_of(R"(["K",0,0,-1])"),
            "t:2: column 10: expected a duration in ns, an integer 0..1000000000000000, found -1");
  EXPECT_EQ(error_of(R"(["H",0,0,[[1,0]]])"), "t:2: column 14: expected a mode, an integer 1..3, found 0");
  EXPECT_EQ(error_of(R"(["H",0,0,[[1,1,13]]])"), "t:2: column 16: expected a pattern, an integer 0..12, found 13");
  EXPECT_EQ(error_of(R"(["H",0,0,[[1,1,0,0,-2]]])"),
            "t:2: column 20: expected a length in bytes, an integer -1..281474976710656, found -2");
  EXPECT_EQ(error_of(R"(["H",0,0,[[1,1,0,0,-1,0]]])"),
            "t:2: column 23: expected a count of passes, an integer 1..2147483647, found 0");
  EXPECT_EQ(error_of(R"(["A",1,64,0,{"dev":128}])"), "t:2: column 20: expected a device, an integer 0..127, found 128");
  EXPECT_EQ(error_of(R"(["A",1,64,0,{"space":"x"}])"),
            "t:2: column 22: expected \"m\", \"d\", \"h\" or \"p\", found \"x\"");
  EXPECT_EQ(error_of(R"(["X",0,0,0,0,[],{"ranks":-1}])"),
            "t:2: column 26: expected a count of ranks, an integer 0..2147483647, found -1");
}

TEST(TraceError, AHeaderThatIsNoHeaderIsOneFault) {
  EXPECT_EQ(errors_of(""), "t:1: expected the header, found an empty file");
  EXPECT_EQ(errors_of("\n\n"), "t:1: expected the header, found an empty file");
  EXPECT_EQ(errors_of("[\"F\",1]\n[\"F\",\n"), R"(t:1: expected the header ["M",{"v":1,...}] before any record)");
  EXPECT_EQ(errors_of("GIF89a\nxx\nyy\n"), "t:1: column 1: expected \"[\", found GIF89a");
  EXPECT_EQ(errors_of("[\"M\",{\"v\":2}]\n[\"F\",\n"),
            R"(t:1: header key "v": expected version 1 of the format, found 2)");
  EXPECT_EQ(errors_of(R"(["M",{}])"), R"(t:1: header key "v": expected the version, found nothing)");
  EXPECT_EQ(errors_of(R"(["M",[]])"), "t:1: expected an object as the header");
  EXPECT_EQ(errors_of("[\"M\",{\"v\":1,\"name\":\"\xff\"}]"), "t:1: the header is not valid JSON in UTF-8");
  EXPECT_EQ(error_of(R"(["M",{"v":1}])"), "t:2: a second header");
}

TEST(TraceError, NamesTheHeadersKey) {
  const auto header = [](const std::string& rest) { return errors_of("[\"M\",{\"v\":1," + rest + "}]"); };
  EXPECT_EQ(header(R"("t":"us")"), R"(t:1: header key "t": expected "ns", the only unit of time, found "us")");
  EXPECT_EQ(header(R"("name":3)"), R"(t:1: header key "name": expected a string, found 3)");
  EXPECT_EQ(header(R"("samples":-1)"), R"(t:1: header key "samples": expected a number, 0 or more, found -1)");
  EXPECT_EQ(header(R"("host_op_ns":0.5)"),
            R"(t:1: header key "host_op_ns": expected an integer 0..1000000000000000, found 0.5)");
  EXPECT_EQ(header(R"("dev":[{"mem":1e300}])"),
            R"(t:1: header key "dev.mem": expected an integer 0..281474976710656, found 1e+300)");
  EXPECT_EQ(header(R"("dev":{})"), R"(t:1: header key "dev": expected a list, found {})");
  EXPECT_EQ(header(R"("pats":["seq","rand"])"),
            R"(t:1: header key "pats": expected "tile" as pattern 1, found "rand")");
}

TEST(TraceError, StringsCountUp) {
  EXPECT_EQ(error_of(R"(["S",1,"a"])"), "t:2: expected string 0, the next one, found string 1");
  EXPECT_EQ(error_of("[\"S\",0,\"a\xff\"]"),
            "t:2: column 8: expected the string with valid escapes, in UTF-8, found \"a\\xff\"");
  EXPECT_EQ(error_of(R"(["S",0,"a)"),
            "t:2: column 10: expected \"\\\"\", the end of the string, found the end of the line");
}

TEST(TraceError, EveryFaultIsShownWithItsLine) {
  EXPECT_EQ(errors_of(kTestHeader + "[\"F\"]\n[\"I\",0]\n[\"I\",x]\n"),
            "t:2: column 5: expected a tensor's id, found ]\n"
            "t:4: column 6: expected an iteration's index, an integer 0 or more, found x");
}

TEST(TraceError, ShowsTwentyAndCountsTheRest) {
  std::string text = kTestHeader;
  for (int i = 0; i < 25; ++i) text += "[\"F\",5]\n";
  const std::string errors = errors_of(text);
  EXPECT_THAT(errors, StartsWith("t:2: tensor 5 is freed but was never allocated\n"));
  EXPECT_THAT(errors, HasSubstr("\nt:21: "));
  EXPECT_THAT(errors, testing::EndsWith("\nt: and 5 more"));
  EXPECT_THAT(errors, testing::Not(HasSubstr("t:22")));
}

// Line 2 was to allocate tensor 1. That line 3 frees a tensor nobody allocated follows from the first error.
TEST(TraceError, AFaultyLineIsNotBlamedOnLaterOnes) {
  EXPECT_EQ(errors_of(kTestHeader + "[\"A\",1]\n[\"F\",1]\n"), "t:2: column 7: expected the tensor's bytes, found ]");
}

TEST(TraceError, DeepNestingIsRefusedAt64) {
  const auto nested = [](std::size_t depth) {
    return "[\"Z\"," + std::string(depth, '[') + std::string(depth, ']') + "]";
  };
  EXPECT_EQ(error_of(nested(64)), "");
  EXPECT_THAT(error_of(nested(65)), StartsWith("t:2: column 70: expected at most 64 nested brackets, found ["));
  EXPECT_THAT(error_of(nested(1'000'000)), HasSubstr("nested brackets"));
  EXPECT_THAT(errors_of("[\"M\",{\"v\":1,\"x\":" + std::string(100'000, '[')), HasSubstr("nested brackets"));
}

TEST(TraceError, ALineOf16MiBIsReadAndALongerOneIsNot) {
  const auto line_of = [](std::size_t bytes) { return "[\"Y\"" + std::string(bytes - 5, ' ') + "]\n"; };
  EXPECT_EQ(errors_of(kTestHeader + line_of(kLongestLine)), "");
  EXPECT_EQ(errors_of(kTestHeader + line_of(kLongestLine + 1) + "[\"Y\"]\n[\"F\"]\n"),
            "t:2: expected a line of at most 16 MiB\nt:4: column 5: expected a tensor's id, found ]");
}

TEST(TraceError, ATruncatedCompressedFileSaysSo) {
  const std::string whole = text_of(trace_of(kTestHeader + "[\"Y\"]\n"), {3});
  for (std::size_t size = 4; size < whole.size(); ++size)
    EXPECT_THAT(errors_of(whole.substr(0, size)),
                HasSubstr("the zstd data ends inside a frame: the file was cut short"))
        << size << " of " << whole.size() << " bytes";
}

TEST(TraceError, ADamagedCompressedFileSaysSo) {
  std::string bytes = text_of(trace_of(kTestHeader + "[\"Y\"]\n"), {3});
  bytes.back() = static_cast<char>(bytes.back() ^ 1);  // of the checksum
  EXPECT_THAT(errors_of(bytes), HasSubstr("the zstd data is broken: "));
}

TEST(TraceReader, ReadsSeveralFramesAsOneFile) {
  const auto pack = [](const std::string& text) {
    std::ostringstream out;
    const auto sink = zstd_sink(out, 1);
    sink->write(text);
    sink->finish();
    return out.str();
  };
  const std::string skippable("\x50\x2a\x4d\x18\x03\0\0\0abc", 11);
  const Trace trace = trace_of(skippable + pack(kTestHeader + "[\"I\",") + pack("7]\n[\"I\",8]\n"));
  ASSERT_EQ(trace.records.size(), 2u);
  EXPECT_EQ(std::get<Iteration>(trace.records[0]).index, 7);
}

// 3 MB of one line's worth of output per frame: more than one read of the decompressor.
TEST(TraceReader, ReadsAFrameThatIsLargerThanItsBuffers) {
  Trace trace;
  for (std::int64_t i = 0; i < 200'000; ++i) trace.records.push_back(Iteration{i});
  EXPECT_EQ(trace_of(text_of(trace, {1})).records, trace.records);
}

TEST(TraceReader, AFileThatIsMissingOrAFolderIsTheUsersFault) {
  EXPECT_THAT(
      [] { read_trace("/nonexistent/a.uvmtrace"); },
      testing::ThrowsMessage<UserError>("/nonexistent/a.uvmtrace: cannot be opened: No such file or directory"));
  EXPECT_THAT([] { read_trace("/"); }, testing::ThrowsMessage<UserError>(HasSubstr("cannot be read")));
}

}  // namespace
}  // namespace uvmsim::trace
