#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>

#include "support/imported.h"
#include "trace/faulty_durations.h"

namespace uvmsim {
namespace {

// The example of capture/FORMAT.md in a block that starts with "```" and `name`.
std::string example(const std::string& name) {
  std::ifstream in(std::string(UVMSIM_SOURCE_DIR) + "/capture/FORMAT.md");
  const std::string page{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const std::size_t start = page.find("```" + name + "\n") + name.size() + 4;
  return page.substr(start, page.find("```", start) - start);
}

// Times of the host: alloc 2000, alloc 2500, prefetch 3000, launch 4000: 2000 ns of host time before the launch, then
// 1000 to the wait, less than the 5 us that a simulation charges for each of the two calls. The kernel's arguments
// point to both allocations.
TEST(Uvmcap, TheExampleOfTheFormatBecomesATrace) {
  const trace::Trace trace = imported(example("uvmcap"));
  EXPECT_EQ(records_text(trace),
            "[\"A\",1,8388608,7,{\"space\":\"m\"}]\n"
            "[\"A\",2,4194304,7,{\"space\":\"d\"}]\n"
            "[\"P\",1,0,-1,0,1]\n"
            "[\"S\",0,\"vecadd(float*, float*, int)\"]\n"
            "[\"K\",0,1,28000,[[1,3,0],[2,3,0]],{\"grid\":4096,\"blk\":256,\"regs\":16}]\n"
            "[\"Y\",-1]\n"
            "[\"F\",2]\n");
  EXPECT_EQ(trace.header.operands_status, "superset");
  EXPECT_THAT(trace.header.durations, testing::EndsWith(trace::kFaultyDurations));
  EXPECT_EQ(trace.header.devices.at(0).name, "NVIDIA H200");
  EXPECT_THAT(trace.header.unknowns,
              testing::ElementsAre("1 lines of what the UVM driver did: left out, the simulator makes its own"));
}

TEST(Uvmcap, PyTorchAloneGivesOperatorsWithTheHostsTime) {
  const trace::Trace trace = imported(example("uvmcap-torch"));
  EXPECT_EQ(records_text(trace),
            "[\"A\",1,4096,0]\n[\"I\",0]\n"
            "[\"S\",0,\"forward\"]\n[\"R\",0]\n[\"S\",1,\"fc1\"]\n[\"L\",1]\n"
            "[\"A\",2,2048,7]\n"
            "[\"S\",2,\"aten.mm.default\"]\n[\"K\",2,0,5000,[[1,1,0],[2,2,0]]]\n"
            "[\"F\",2]\n");
  EXPECT_EQ(trace.header.durations_status, "");
}

// Both files of one process: the clocks differ by wall_ns - clock_ns = 1e9. Operator 4 runs at 1000002000..; its kernel
// is launched at 2100 on the CUPTI clock. From 2150 to the copy at 3000 the host is in no operator.
const std::string kCuda =
    R"({"k":"header","uvmcap":1,"clock_ns":0,"wall_ns":1000000000,"exe":"python3"})"
    "\n"
    R"({"k":"alloc","t":100,"th":0,"c":1,"a":4096,"bytes":2097152,"mem":"device","dev":0})"
    "\n"
    R"({"k":"launch","t":2100,"th":0,"c":2,"st":7,"ptr":[4096],"op":4})"
    "\n"
    R"({"k":"launch","t":2200,"th":0,"c":3,"st":7,"ptr":[4096],"rc":701})"
    "\n"
    R"({"k":"copy","t":3000,"th":0,"c":4,"st":7,"dst":99,"src":4096,"bytes":64})"
    "\n"
    R"({"k":"str","i":0,"s":"sgemm"})"
    "\n"
    R"({"k":"kernel","c":2,"n":0,"dev":0,"st":7,"s":5000,"e":6000,"grid":[2,1,1],"blk":[64,1,1]})"
    "\n"
    R"({"k":"memcpy","c":4,"dev":0,"st":7,"s":7000,"e":7100,"bytes":64,"kind":"d2h","src":"device","dst":"pageable"})"
    "\n"
    R"({"k":"end","t":9000,"host":4,"gpu":2,"dropped":0})"
    "\n";
const std::string kTorch =
    R"({"k":"header","uvmcap_torch":1,"torch":"2.3.0","injected":1,"device":[],"t":1000000000})"
    "\n"
    R"({"k":"tensor","id":1,"bytes":512,"dev":0,"a":4096,"t":1000001000,"old":1})"
    "\n"
    R"({"k":"tensor","id":2,"bytes":512,"dev":"cpu","a":99,"t":1000001000})"
    "\n"
    R"({"k":"str","i":0,"s":"aten.mul_.Tensor"})"
    "\n"
    R"({"k":"op","id":4,"n":0,"t":1000002000,"e":1000002150,"th":0,"r":[[1,0,512]],"w":[[1,0,512]]})"
    "\n"
    R"({"k":"gone","id":1,"t":1000004000})"
    "\n"
    R"({"k":"end","t":1000009000,"ops":1})"
    "\n";

TEST(Uvmcap, BothFilesTogetherGiveKernelsExactTensors) {
  const trace::Trace trace = imported({ImportFile::of("c", kCuda), ImportFile::of("t", kTorch)});
  EXPECT_EQ(records_text(trace),
            "[\"A\",1,512,7]\n"
            "[\"S\",0,\"sgemm\"]\n[\"K\",0,1,1000,[[1,3,0]],{\"grid\":2,\"blk\":64,\"gap\":2000}]\n"
            "[\"C\",1,1,64,[],{\"pinned\":0,\"async\":0}]\n"
            "[\"F\",1]\n");
  EXPECT_EQ(trace.header.operands_status, "exact");
  EXPECT_EQ(trace.header.durations, "measured by CUPTI in the recorded run");  // of device memory: nothing faults
  EXPECT_THAT(trace.header.unknowns,
              testing::ElementsAre("1 allocations of the driver: left out, PyTorch's tensors stand for them",
                                   "1 calls that failed: left out",
                                   "1 kernels and copies outside of any operator: they touch nothing",
                                   "1 spans of host time between operators: left out, most of it is the recorder's"));
}

// A result is seen when its operator has returned, 150 ns after the launch of the kernel that writes it.
TEST(Uvmcap, AnOperatorsKernelsWriteWhatItReturns) {
  std::string torch = kTorch;
  const std::string op = R"({"k":"op","id":4,)",
                    seen = R"({"k":"tensor","id":9,"bytes":256,"dev":0,"a":8192,"t":1000002250})";
  torch.insert(torch.find(op), seen + "\n");
  const std::string was = R"("w":[[1,0,512]]})";
  torch.replace(torch.find(was), was.size(), R"("w":[[9,0,256]]})");
  EXPECT_EQ(records_text(imported({ImportFile::of("c", kCuda), ImportFile::of("t", torch)})),
            "[\"A\",1,512,7]\n[\"A\",2,256,7]\n"
            "[\"S\",0,\"sgemm\"]\n[\"K\",0,1,1000,[[1,1,0],[2,2,0]],{\"grid\":2,\"blk\":64,\"gap\":2000}]\n"
            "[\"C\",1,1,64,[],{\"pinned\":0,\"async\":0}]\n[\"F\",1]\n");
}

// A block at 12288 is taken before anything was recorded, as cuBLAS does, and stays. A block at 8192 is taken at 2010
// and given back at 2140, within operator 4, whose kernel is launched at 2100: a workspace. The block at 4096 is that
// of tensor 1, which was seen there.
TEST(Uvmcap, BlocksWithoutATensorAreWorkspacesOfTheirOperator) {
  const auto block = [](const std::string& action, int address, int time) {
    return R"({"k":"block","do":")" + action + R"(","a":)" + std::to_string(address) + R"(,"bytes":1024,"st":0,"t":)" +
           std::to_string(1'000'000'000 + time) + R"(,"dev":0})" + "\n";
  };
  const std::string torch = kTorch.substr(0, kTorch.find("{\"k\":\"end\"")) + block("alloc", 12288, 800) +
                            block("alloc", 4096, 900) + block("alloc", 8192, 2010) +
                            block("free_requested", 8192, 2140) + block("free_requested", 4096, 4000);
  EXPECT_EQ(records_text(imported({ImportFile::of("c", kCuda), ImportFile::of("t", torch)})),
            "[\"A\",1,1024,6]\n[\"A\",2,512,7]\n[\"A\",3,1024,6]\n"
            "[\"S\",0,\"sgemm\"]\n[\"K\",0,1,1000,[[2,3,0],[3,3,0]],{\"grid\":2,\"blk\":64,\"gap\":2000}]\n"
            "[\"F\",3]\n[\"C\",1,1,64,[],{\"pinned\":0,\"async\":0}]\n[\"F\",2]\n");
}

// Operator 4 has two kernels: the first is given tensor 1 and a workspace at 12288, the second where the first's part
// of the workspace ends, 12800, and tensor 9 at 8192. Nobody is given tensor 3 at 16384: both may find it some other
// way.
TEST(Uvmcap, AKernelTouchesWhatItsArgumentsPointAt) {
  std::string torch = kTorch.substr(0, kTorch.find("{\"k\":\"gone\""));
  const auto tensor = [](int id, int address) {
    return R"({"k":"tensor","id":)" + std::to_string(id) + R"(,"bytes":256,"dev":0,"a":)" + std::to_string(address) +
           R"(,"t":1000001000})" + "\n";
  };
  torch.insert(torch.find(R"({"k":"op")"), tensor(9, 8192) + tensor(3, 16384));
  const std::string was = R"("w":[[1,0,512]]})";
  torch.replace(torch.find(was), was.size(), R"("w":[[9,0,256],[3,0,256]]})");
  torch += R"({"k":"block","do":"alloc","a":12288,"bytes":1024,"st":0,"t":1000002010,"dev":0})"
           "\n"
           R"({"k":"block","do":"free_requested","a":12288,"bytes":1024,"st":0,"t":1000002140,"dev":0})"
           "\n";
  std::string cuda = kCuda.substr(0, kCuda.find("{\"k\":\"copy\""));
  cuda.replace(cuda.find("[4096]"), 6, "[4096,12288]");
  cuda += R"({"k":"launch","t":2120,"th":0,"c":5,"st":7,"ptr":[12800,8192],"op":4})"
          "\n"
          R"({"k":"str","i":0,"s":"k"})"
          "\n"
          R"({"k":"kernel","c":2,"n":0,"dev":0,"st":7,"s":5000,"e":6000,"grid":[2,1,1],"blk":[64,1,1]})"
          "\n"
          R"({"k":"kernel","c":5,"n":0,"dev":0,"st":7,"s":6000,"e":7000,"grid":[2,1,1],"blk":[64,1,1]})"
          "\n";
  EXPECT_THAT(records_text(imported({ImportFile::of("c", cuda), ImportFile::of("t", torch)})),
              testing::AllOf(testing::HasSubstr("[[1,1,0],[3,2,0],[4,3,0,0,512]]"),
                             testing::HasSubstr("[[2,2,0],[3,2,0],[4,3,0,512]]")));
}

// Operator 4 begins at 2000 and launches at 2100; an iteration that begins after it has no time of its own.
TEST(Uvmcap, AnIterationBeginsAfterTheLaunchesOfTheOperatorBeforeIt) {
  const std::string torch = kTorch.substr(0, kTorch.find("{\"k\":\"gone\"")) + "{\"k\":\"iteration\",\"i\":0}\n";
  const std::string records = records_text(imported({ImportFile::of("c", kCuda), ImportFile::of("t", torch)}));
  EXPECT_LT(records.find("[\"K\""), records.find("[\"I\",0]")) << records;
}

// Launches at 2100 and 9050; operators run from 2000 to 2150 and from 9000 to 9100. Of the 6950 ns between the
// launches, 50 and 50 lie in operators; the rest is the recorder's.
TEST(Uvmcap, HostTimeBetweenOperatorsIsTheRecorders) {
  const std::string torch = kTorch.substr(0, kTorch.find("{\"k\":\"gone\"")) +
                            R"({"k":"op","id":5,"n":0,"t":1000009000,"e":1000026100,"th":0,"r":[[1,0,512]],"w":[]})"
                            "\n";
  const std::string cuda =
      kCuda.substr(0, kCuda.find("{\"k\":\"end\"")) +
      R"({"k":"launch","t":26050,"th":0,"c":9,"st":7,"op":5})"
      "\n"
      R"({"k":"kernel","c":9,"n":0,"dev":0,"st":7,"s":29500,"e":29600,"grid":[1,1,1],"blk":[32,1,1]})"
      "\n";
  const trace::Trace trace = imported({ImportFile::of("c", cuda), ImportFile::of("t", torch)});
  EXPECT_THAT(records_text(trace), testing::HasSubstr(R"(["K",0,1,100,[[1,1,0]],{"grid":1,"blk":32,"gap":7100}])"));
  EXPECT_THAT(trace.header.unknowns,
              testing::Contains("2 spans of host time between operators: left out, most of it is the recorder's"));
}

TEST(Uvmcap, AKilledProgramKeepsWhatItRecorded) {
  const std::string cut = kCuda.substr(0, kCuda.size() - 20);
  const trace::Trace trace = imported(cut);
  EXPECT_THAT(trace.header.unknowns,
              testing::IsSupersetOf({"1 last lines: cut off, as of a killed program",
                                     "1 recordings without an end: the program was killed or cut off"}));
}

TEST(Uvmcap, FailedRecordingsAndBadLinesAreRefused) {
  EXPECT_EQ(import_errors(kCuda.substr(0, kCuda.find('\n') + 1) +
                          R"({"k":"error","text":"multiple subscribers","code":39,"holder":"Nsight Systems"})"
                          "\n"),
            "f:2: the recording failed: multiple subscribers; CUPTI is held by Nsight Systems");
  std::string bad = kCuda;
  bad.replace(bad.find("\"a\":4096"), 8, "\"a\":\"x\" ");
  bad.replace(bad.find("\"n\":0"), 5, "\"n\":9");
  bad.replace(bad.find("{\"k\":\"copy\""), 1, "?");
  EXPECT_EQ(import_errors(bad),
            "f:2: expected \"a\", a whole number\n"
            "f:5: expected one JSON object a line\n"
            "f:7: string 9 was not given before");
}

}  // namespace
}  // namespace uvmsim
