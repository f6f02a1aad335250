#include <fstream>
#include <gtest/gtest.h>

#include "support/trace_text.h"
#include "trace/checker.h"

namespace uvmsim::trace {
namespace {

// The records of a canonical line, read and written again.
std::string again(const std::string& line) {
  const std::string text = text_of(trace_of(line));
  return text.substr(text.find('\n') + 1);
}

// Two devices, a live tensor 1 of 4096 bytes and a string 0, for records that need them.
const std::string kTwoDevices = R"(["M",{"v":1,"dev":[{},{}]}]
["A",1,4096,0]
["S",0,"name"]
["E",3,0]
["a",5,1048576]
)";

template <class T>
T only(const std::string& line) {
  return std::get<T>(trace_of(kTwoDevices + line + "\n").records.back());
}

std::string fenced_example() {
  std::ifstream in(UVMSIM_SOURCE_DIR "/sim/trace/FORMAT.md");
  std::stringstream page;
  page << in.rdbuf();
  const std::string text = page.str();
  const std::string fence = "\n```uvmtrace\n";
  const std::size_t first = text.find(fence) + fence.size();
  return text.substr(first, text.find("```", first) - first);
}

TEST(TraceFormat, TheExampleOfThePageIsCanonical) {
  const std::string example = fenced_example();
  EXPECT_GT(example.size(), 1000u);
  EXPECT_EQ(text_of(trace_of(example)), example);
}

TEST(TraceFormat, TheExampleOfThePageMeansWhatThePageSays) {
  const Trace trace = trace_of(fenced_example());
  EXPECT_EQ(trace.header.devices.size(), 2u);
  EXPECT_EQ(trace.header.samples, 32);
  EXPECT_EQ(trace.strings,
            (std::vector<std::string>{"forward", "encoder.embedding", "sgemm_128x64_nn", "embedding_lookup"}));
  EXPECT_TRUE(check_trace(trace).empty());
  const auto gemm = std::get<Kernel>(trace.records[13]);
  EXPECT_EQ(gemm.duration_ns, 185000);
  EXPECT_EQ(gemm.shared_memory, 12544);
  ASSERT_EQ(gemm.accesses.count, 2u);
  const Access& result = trace.accesses[gemm.accesses.first + 1];
  EXPECT_EQ(result.mode, Mode::ReadWrite);
  EXPECT_EQ(result.pattern, Pattern::Tile);
  EXPECT_EQ(result.length, 524288);
  EXPECT_EQ(result.passes, 2);
  const PatternOptions& options = trace.options[static_cast<std::size_t>(result.options)];
  EXPECT_EQ(options.rows, 256);
  EXPECT_EQ(options.columns, 512);
  EXPECT_EQ(options.leading_dimension, 2048);
  EXPECT_EQ(options.element_bytes, 2);
}

TEST(TraceReader, FillsEveryFieldOfAllocations) {
  EXPECT_EQ(only<Alloc>(R"(["A",2,512])"), (Alloc{.tensor = 2, .bytes = 512}));
  EXPECT_EQ(only<Alloc>(R"(["A",2,512,7,{"dev":1,"stream":9,"space":"h","seg":5,"off":4096,"zeros":62}])"),
            (Alloc{.tensor = 2,
                   .bytes = 512,
                   .kind = 7,
                   .device = 1,
                   .stream = 9,
                   .space = static_cast<std::int8_t>(Space::PinnedHost),
                   .segment = 5,
                   .offset = 4096,
                   .zeros = 62}));
  EXPECT_EQ(only<Free>(R"(["F",1])"), (Free{1}));
  EXPECT_EQ(only<SegmentAlloc>(R"(["a",6,512])"), (SegmentAlloc{6, 512, Space::Managed, 0}));
  EXPECT_EQ(only<SegmentAlloc>(R"(["a",6,512,{"dev":1,"space":"p"}])"), (SegmentAlloc{6, 512, Space::PageableHost, 1}));
  EXPECT_EQ(only<SegmentFree>(R"(["f",5])"), (SegmentFree{5}));
}

TEST(TraceReader, FillsEveryFieldOfWork) {
  EXPECT_EQ(only<Kernel>(R"(["K",0,2,345])"), (Kernel{.stream = 2, .duration_ns = 345}));
  EXPECT_EQ(only<Kernel>(R"(["K",0,2,345,[],{"fl":11,"dev":1,"grid":12,"blk":13,"regs":14,"smem":15,"gap":16}])"),
            (Kernel{.stream = 2,
                    .duration_ns = 345,
                    .device = 1,
                    .flops = 11,
                    .grid = 12,
                    .block = 13,
                    .registers = 14,
                    .shared_memory = 15,
                    .gap_ns = 16}));
  EXPECT_EQ(only<Kernel>(R"(["K",0,2,345,[],{"var":[[300,4096]]}])"),
            (Kernel{.stream = 2, .duration_ns = 345, .variants = 0}));
  EXPECT_EQ(only<Copy>(R"(["C",1,2,77])"), (Copy{.direction = CopyDirection::DeviceToHost, .stream = 2, .bytes = 77}));
  EXPECT_EQ(only<Copy>(R"(["C",3,2,77,[],{"pinned":0,"async":0,"dev":1,"peer":0}])"),
            (Copy{.direction = CopyDirection::PeerToPeer,
                  .stream = 2,
                  .bytes = 77,
                  .device = 1,
                  .peer = 0,
                  .pinned = false,
                  .asynchronous = false}));
  EXPECT_EQ(only<CollectiveOp>(R"(["X",4,1,2,77])"),
            (CollectiveOp{.kind = Collective::AllToAll, .communicator = 1, .stream = 2, .bytes = 77}));
  EXPECT_EQ(only<CollectiveOp>(R"(["X",6,1,2,77,[],{"ranks":8,"dur":9,"dev":1,"peer":0}])"),
            (CollectiveOp{.kind = Collective::Receive,
                          .communicator = 1,
                          .stream = 2,
                          .bytes = 77,
                          .ranks = 8,
                          .duration_ns = 9,
                          .device = 1,
                          .peer = 0}));
  EXPECT_EQ(only<HostStep>(R"(["H",8])"), (HostStep{.duration_ns = 8}));
  EXPECT_EQ(only<HostStep>(R"(["H",8,3,[]])"), (HostStep{.duration_ns = 8, .thread = 3}));
}

// Equal lists share an entry.
TEST(TraceReader, KeepsTheLaunchVariantsOfKernels) {
  const std::string lines = R"(["K",0,0,345,[],{"var":[[300,4096],[500,0]]}]
["K",0,0,345,[],{"var":[[9,8]]}]
["K",0,0,346,[],{"var":[[300,4096],[500,0]]}]
)";
  const Trace trace = trace_of(kTwoDevices + lines);
  EXPECT_EQ(trace.variants, (std::vector<LaunchVariants>{{{300, 4096}, {500, 0}}, {{9, 8}}}));
  EXPECT_EQ(std::get<Kernel>(trace.records.back()).variants, 0);
  EXPECT_TRUE(text_of(trace).ends_with(lines));
}

TEST(TraceReader, FillsEveryFieldOfHintsAndMarks) {
  EXPECT_EQ(only<Prefetch>(R"(["P",1])"), (Prefetch{.tensor = 1}));
  EXPECT_EQ(only<Prefetch>(R"(["P",1,64,128,-1,5])"), (Prefetch{1, 64, 128, -1, 5}));
  EXPECT_EQ(only<Discard>(R"(["D",1])"), (Discard{.tensor = 1}));
  EXPECT_EQ(only<Discard>(R"(["D",1,64,128,5])"), (Discard{1, 64, 128, 5}));
  EXPECT_EQ(only<Advise>(R"(["V",1,64,128,-2])"), (Advise{1, 64, 128, -2, 0}));
  EXPECT_EQ(only<Advise>(R"(["V",1,64,128,3,-1])"), (Advise{1, 64, 128, 3, -1}));
  EXPECT_EQ(only<EventRecord>(R"(["E",4,5])"), (EventRecord{4, 5}));
  EXPECT_EQ(only<EventWait>(R"(["W",3,5])"), (EventWait{3, 5}));
  EXPECT_EQ(only<Synchronize>(R"(["Y"])"), (Synchronize{-1}));
  EXPECT_EQ(only<Synchronize>(R"(["Y",5])"), (Synchronize{5}));
  EXPECT_EQ(only<Iteration>(R"(["I",5])"), (Iteration{5}));
  EXPECT_EQ(only<Phase>(R"(["R",0])"), (Phase{0}));
  EXPECT_EQ(only<Layer>(R"(["L",0])"), (Layer{0}));
}

TEST(TraceReader, FillsEveryFieldOfAnAccess) {
  const Trace trace = trace_of(kTwoDevices + R"(["H",0,0,[[1,1],[1,2,5],[1,3,0,64],[1,1,0,64,128],[1,1,0,64,128,3],)" +
                               R"([1,1,9,{"order":[0,64]}],[1,1,{"e":8}]]])" + "\n");
  const std::vector<Access> expected = {
      {.tensor = 1},
      {.tensor = 1, .mode = Mode::Write, .pattern = Pattern::Wide},
      {.tensor = 1, .mode = Mode::ReadWrite, .offset = 64},
      {.tensor = 1, .offset = 64, .length = 128},
      {.tensor = 1, .passes = 3, .offset = 64, .length = 128},
      {.tensor = 1, .pattern = Pattern::Order, .options = 0},
      {.tensor = 1, .options = 1},
  };
  EXPECT_EQ(trace.accesses, expected);
  EXPECT_EQ(trace.options, (std::vector<PatternOptions>{{.order = {0, 64}}, {.element_bytes = 8}}));
}

TEST(TraceReader, FillsAndWritesTheShapesOfLaunches) {
  const std::string line =
      R"(["H",0,0,[[1,1,0,{"chunk":4800}],[1,1,2,{"g":4,"n":7,"dep":1}],[1,1,0,{"unroll":4}],[1,2,8,{"tile":[8,9,36],"blk":[32,4]}],[1,2,1,{"tile":[8,9,36],"n":2,"cta":[64,128]}]]])"
      "\n";
  const Trace trace = trace_of(kTwoDevices + line);
  EXPECT_EQ(trace.options,
            (std::vector<PatternOptions>{
                {.chunk = 4800},
                {.width = 4, .count = 7, .dependent = true},
                {.unroll = 4},
                {.rows = 8, .columns = 9, .leading_dimension = 36, .block_x = 32, .block_y = 4},
                {.rows = 8, .columns = 9, .leading_dimension = 36, .count = 2, .cta_rows = 64, .cta_columns = 128}}));
  EXPECT_TRUE(trace.ignored_keys.empty());
  EXPECT_NE(text_of(trace).find("\n" + line), std::string::npos);
}

TEST(TraceReader, EqualOptionsAreStoredOnce) {
  const Trace trace = trace_of(kTwoDevices + R"(["H",0,0,[[1,1,3,{"s":8}],[1,1,3,{"s":8}],[1,1,3,{"s":9}]]])" + "\n");
  EXPECT_EQ(trace.options.size(), 2u);
  EXPECT_EQ(trace.accesses[0].options, trace.accesses[1].options);
}

TEST(TraceReader, TakesOtherNamesOfWidthAndCount) {
  const Trace trace = trace_of(kTwoDevices + R"(["H",0,0,[[1,1,2,{"w":8,"count":3}],[1,1,3,{"g":8,"n":3}]]])" + "\n");
  EXPECT_EQ(trace.options[0], (PatternOptions{.width = 8, .count = 3}));
  EXPECT_EQ(trace.options[1], (PatternOptions{.width = 8, .count = 3}));
}

TEST(TraceReader, TakesWhiteSpaceBlankLinesAndNoLastNewline) {
  const Trace trace = trace_of("[ \"M\" , {\"v\" : 1} ]\r\n\n  \t\r\n [\"A\" ,\t1 , 4096 , 0 , { \"dev\" : 0 } ] \r");
  EXPECT_EQ(trace.records.size(), 1u);
}

TEST(TraceReader, UndoesEscapes) {
  const Trace trace = trace_of(kTestHeader + R"(["S",0,"a\"b\\c\u00e9\n"])" + "\n");
  EXPECT_EQ(trace.strings[0], "a\"b\\c\xc3\xa9\n");
  EXPECT_EQ(again(kTestHeader + R"(["S",0,"a\"b\\c\u00e9\n"])"), "[\"S\",0,\"a\\\"b\\\\c\xc3\xa9\\n\"]\n");
}

TEST(TraceReader, SkipsAndCountsWhatItDoesNotKnow) {
  const Trace trace = trace_of(R"(["M",{"v":1,"links":[[0,1]],"dev":[{"smid":3}]}])"
                               "\n"
                               R"(["Z",[1,{"a":[true,null,-1.5e3,"x"]}],{}])"
                               "\n"
                               R"(["Z"])"
                               "\n"
                               R"(["A",1,64,0,{"addr":140000,"pool":[1,2]}])"
                               "\n"
                               R"(["H",0,0,[[1,1,2,{"zipf":1,"n":5}],[1,1,2,{"zipf":1,"n":5}]],{"dep":[3]}])"
                               "\n");
  EXPECT_EQ(trace.records.size(), 2u);
  EXPECT_EQ(trace.ignored_tags, (std::map<std::string, std::int64_t>{{"Z", 2}}));
  EXPECT_EQ(trace.ignored_keys,
            (std::map<std::string, std::int64_t>{
                {"A.addr", 1}, {"A.pool", 1}, {"H.dep", 1}, {"M.dev.smid", 1}, {"M.links", 1}, {"access.zipf", 2}}));
}

TEST(TraceReader, TakesWholeHeaderNumbersWithAFraction) {
  const Header header =
      trace_of(R"(["M",{"v":1,"dev":[{"mem":3.3e10,"fp32":1.57e13,"bw":9.5}],"samples":0.5}])").header;
  EXPECT_EQ(header.devices[0].memory_bytes, 33'000'000'000);
  EXPECT_EQ(header.devices[0].bandwidth, 9.5);
  EXPECT_EQ(header.samples, 0.5);
}

TEST(TraceWriter, LeavesOutDefaultsFromTheRight) {
  Trace trace;
  trace.accesses = {
      {.tensor = 1}, {.tensor = 1, .offset = 64}, {.tensor = 1, .offset = 0, .length = 64}, {.tensor = 1, .passes = 2}};
  trace.records = {Alloc{.tensor = 1, .bytes = 4096}, HostStep{.accesses = {0, 4}}};
  const std::string text = text_of(trace);
  EXPECT_EQ(text.substr(text.find('\n') + 1),
            "[\"A\",1,4096,0]\n[\"H\",0,0,[[1,1,0],[1,1,0,64],[1,1,0,0,64],[1,1,0,0,-1,2]]]\n");
}

TEST(TraceWriter, PutsAStringBeforeTheFirstRecordThatNamesItOrALaterOne) {
  Trace trace;
  trace.strings = {"zero", "one", "two"};
  trace.records = {Iteration{0}, Phase{1}, Phase{0}};
  const std::string text = text_of(trace);
  EXPECT_EQ(text.substr(text.find('\n') + 1),
            "[\"I\",0]\n[\"S\",0,\"zero\"]\n[\"S\",1,\"one\"]\n[\"R\",1]\n[\"R\",0]\n[\"S\",2,\"two\"]\n");
}

TEST(TraceWriter, TextThatIsNoUtf8StaysReadable) {
  Trace trace;
  trace.strings = {"a\xff"};
  EXPECT_EQ(trace_of(text_of(trace)).strings[0], "a\xef\xbf\xbd");
}

TEST(TraceWriter, CompressedFilesHoldTheSameTrace) {
  const std::string example = fenced_example();
  for (const int level : {1, 3, 19}) {
    const std::string packed = text_of(trace_of(example), {level});
    EXPECT_LT(packed.size(), example.size());
    EXPECT_EQ(packed.substr(0, 4), "\x28\xb5\x2f\xfd");
    EXPECT_EQ(text_of(trace_of(packed)), example);
    EXPECT_EQ(text_of(trace_of(example), {level}), packed) << "the same trace gave other bytes";
  }
}

}  // namespace
}  // namespace uvmsim::trace
