#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "importers/execution_trace.h"
#include "support/imported.h"

namespace uvmsim {
namespace {

// One matrix product: mm allocates its output (2 KiB at 0x4000) and launches a kernel; a copy and a wait follow.
// ts in us: launch at 110.5 for 5 us, the kernel runs 200..231.25. 4096 and 8192 are the inputs, there from the start.
const std::string kEvents = R"json({"schemaVersion":1,
"deviceProperties":[{"id":0,"name":"Tesla V100","totalGlobalMem":34089730048}],
"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"aten::mm","ts":100,"dur":40,"pid":1,"tid":7,"args":{"External id":3,"Record function id":12,"Input Dims":[[32,32],[32,16],[]],"Input type":["float","float","Scalar"]}},
{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":7,"ts":50,"args":{"Addr":4096,"Bytes":4096,"Device Type":1,"Device Id":0}},
{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":7,"ts":51,"args":{"Addr":8192,"Bytes":2048,"Device Type":1,"Device Id":0}},
{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":7,"ts":105.25,"args":{"Addr":16384,"Bytes":2048,"Device Type":1,"Device Id":0}},
{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":7,"ts":60,"args":{"Addr":999,"Bytes":64,"Device Type":0,"Device Id":-1}},
{"ph":"X","cat":"kernel","name":"volta_sgemm_32x32_nn","ts":200,"dur":31.250,"pid":0,"tid":7,"args":{"External id":3,"correlation":55,"device":0,"stream":7,"grid":[1,2,1],"block":[128,1,1],"registers per thread":80,"shared memory":4096}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","ts":110.5,"dur":5,"pid":1,"tid":7,"args":{"External id":3,"correlation":55}},
{"ph":"X","cat":"cuda_runtime","name":"cudaMemcpyAsync","ts":120,"dur":2,"pid":1,"tid":7,"args":{"correlation":56}},
{"ph":"X","cat":"gpu_memcpy","name":"Memcpy DtoH (Device -> Pageable)","ts":240,"dur":3,"pid":0,"tid":7,"args":{"correlation":56,"device":0,"stream":7,"bytes":2048}},
{"ph":"X","cat":"cuda_runtime","name":"cudaDeviceSynchronize","ts":130,"dur":200,"pid":1,"tid":7,"args":{"correlation":57}},
{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":7,"ts":400,"args":{"Addr":16384,"Bytes":-2048,"Device Type":1,"Device Id":0}},
{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":7,"ts":401,"args":{"Addr":65536,"Bytes":-512,"Device Type":1,"Device Id":0}}
]})json";

// Host time: the launch ends at 115.5, the copy's call begins at 120 (4.5 us), ends at 122; the wait begins at 130 (8
// us). The block at 65536 is freed without an allocation: it was there before.
TEST(Kineto, KernelsStandWhereTheyWereLaunchedWithMatchedOperands) {
  const trace::Trace trace = imported(kEvents);
  EXPECT_EQ(records_text(trace),
            "[\"A\",1,512,7]\n"
            "[\"A\",2,4096,7]\n"
            "[\"A\",3,2048,7]\n"
            "[\"A\",4,2048,7]\n"
            "[\"S\",0,\"volta_sgemm_32x32_nn\"]\n"
            "[\"K\",0,1,31250,[[4,2,0],[2,1,0],[3,1,0]],{\"grid\":2,\"blk\":128,\"regs\":80,\"smem\":4096}]\n"
            "[\"C\",1,1,2048,[],{\"pinned\":0}]\n"
            "[\"H\",12500,0,[]]\n"
            "[\"Y\",-1]\n"
            "[\"F\",4]\n"
            "[\"F\",1]\n");
  EXPECT_EQ(trace.header.operands_status, "heuristic");
  EXPECT_EQ(trace.header.durations_status, "measured");
  EXPECT_EQ(trace.header.host_op_ns, 5000);
  EXPECT_EQ(trace.header.devices.at(0).name, "Tesla V100");
  EXPECT_THAT(trace.header.unknowns, testing::ElementsAre("1 copies and memsets: their operands are not recorded",
                                                          "1 tensors: allocated before the recording began"));
}

// Storage 5 is the input (its second half), 6 the other one, 9 the output.
const std::string kOperators = R"json({"schema":"1.1.1-chakra.0.0.4","pid":1,"nodes":[
{"id":1,"name":"[pytorch|profiler|execution_trace|process]","attrs":[]},
{"id":4,"name":"aten::mm","ctrl_deps":2,
 "inputs":{"values":[[1,5,512,1024,4,"cuda:0"],[2,6,0,512,4,"cuda:0"]],"shapes":[[32,32],[32,16]],"types":["Tensor(float)","Tensor(float)"],"strides":[[32,1],[16,1]]
}
, "outputs" : {
  "values" : [[ 3, 9, 0, 512, 4, "cuda:0" ]],
  "shapes" : [[ 32, 16 ]],
  "types" : ["Tensor(float)"],
  "strides" : [[ 16, 1 ]]
},
              "attrs" : [
                {"name" : "rf_id", "type" : "uint64", "value" : 12},
                {"name" : "op_schema", "type" : "string", "value" : "aten::mm(Tensor self, Tensor mat2) -> Tensor"}]}
]})json";

TEST(Kineto, WithTheObserversFileOperandsAreExact) {
  const trace::Trace trace = imported({ImportFile::of("k", kEvents), ImportFile::of("et", kOperators)});
  EXPECT_THAT(records_text(trace),
              testing::StartsWith("[\"A\",1,6144,5]\n[\"A\",2,2048,5]\n[\"A\",3,2048,7]\n"
                                  "[\"S\",0,\"volta_sgemm_32x32_nn\"]\n"
                                  "[\"K\",0,1,31250,[[1,1,0,2048,{\"e\":16}],[2,1,0,{\"e\":8}],[3,2,0,{\"e\":8}]],"));
  EXPECT_EQ(trace.header.operands_status, "exact");
  EXPECT_THAT(import_errors(kOperators), testing::HasSubstr("has no times"));
}

// As PyTorch 1.13 to 2.1 write: the kernel's External id, 55, is CUPTI's correlation id, which another operator has,
// too. The launch at 110 lies in aten::mm and in aten::linear around it. The second kernel's launch lies in no
// operator.
TEST(Kineto, TheLaunchSaysWhichOperatorAKernelIsOf) {
  const trace::Trace trace = imported(R"json({"schemaVersion":1,"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"aten::linear","ts":100,"dur":60,"pid":1,"tid":7,"args":{"External id":2}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","ts":105,"dur":20,"pid":1,"tid":7,"args":{"External id":3}},
{"ph":"X","cat":"cpu_op","name":"aten::other","ts":105,"dur":20,"pid":1,"tid":8,"args":{"External id":55}},
{"ph":"i","name":"[memory]","pid":1,"tid":7,"ts":106,"args":{"Addr":4096,"Bytes":2048,"Device Type":1,"Device Id":0}},
{"ph":"i","name":"[memory]","pid":1,"tid":8,"ts":106,"args":{"Addr":8192,"Bytes":512,"Device Type":1,"Device Id":0}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","ts":110,"dur":5,"pid":1,"tid":7,"args":{"correlation":55}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","ts":210,"dur":5,"pid":1,"tid":7,"args":{"correlation":56}},
{"ph":"X","cat":"kernel","name":"a","ts":200,"dur":1,"args":{"External id":55,"correlation":55,"device":0,"stream":7}},
{"ph":"X","cat":"kernel","name":"b","ts":300,"dur":1,"args":{"External id":56,"correlation":56,"device":0,"stream":7}}
]})json");
  EXPECT_EQ(records_text(trace),
            "[\"A\",1,2048,7]\n[\"A\",2,512,7]\n"
            "[\"S\",0,\"a\"]\n[\"K\",0,1,1000,[[1,2,0]]]\n"
            "[\"S\",1,\"b\"]\n[\"K\",1,1,1000,[],{\"gap\":95000}]\n");
  EXPECT_THAT(trace.header.unknowns,
              testing::ElementsAre("1 kernels: no operator is recorded for them; they touch nothing"));
}

// Two modules on thread 7, of which conv makes node 5; thread 8 differentiates it at 300 and recomputes fc at 310. The
// range "train" is around the iteration, so it is no layer.
TEST(Kineto, RangesAreLayersPhasesAndIterations) {
  const auto launched = [](int correlation, int thread, int at) {
    const std::string id = std::to_string(correlation);
    return R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","ts":)" + std::to_string(at) +
           R"(,"dur":1,"tid":)" + std::to_string(thread) + R"(,"args":{"correlation":)" + id +
           R"(}},{"ph":"X","cat":"kernel","name":"k","ts":)" + std::to_string(at + 1000) +
           R"(,"dur":1,"args":{"correlation":)" + id + R"(,"device":0,"stream":7}},)";
  };
  const trace::Trace trace = imported(R"json({"traceEvents":[
{"ph":"X","cat":"user_annotation","name":"train","ts":0,"dur":900,"tid":7},
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#3","ts":1,"dur":800,"tid":7},
{"ph":"X","cat":"python_function","name":"nn.Module: Net_0","ts":10,"dur":190,"tid":7},
{"ph":"X","cat":"python_function","name":"nn.Module: Conv2d_0","ts":100,"dur":30,"tid":7},
{"ph":"X","cat":"cpu_op","name":"aten::empty","ts":50,"dur":5,"tid":7,"args":{"Sequence number":5}},
{"ph":"X","cat":"cpu_op","name":"aten::conv2d","ts":105,"dur":20,"tid":7,"args":{"Sequence number":5}},
{"ph":"X","cat":"python_function","name":"nn.Module: Linear_0","ts":150,"dur":30,"tid":7},
{"ph":"X","cat":"cpu_op","name":"autograd::engine::evaluate_function: ConvolutionBackward0","ts":300,"dur":50,"tid":8,"args":{"Sequence number":5}},
{"ph":"X","cat":"python_function","name":"nn.Module: Linear_0","ts":310,"dur":10,"tid":8},
{"ph":"X","cat":"user_annotation","name":"Optimizer.step#SGD.step","ts":400,"dur":50,"tid":7},)json" +
                                      launched(1, 7, 5) + launched(2, 7, 110) + launched(3, 7, 160) +
                                      launched(4, 8, 302) + launched(5, 8, 312) + launched(6, 7, 410) +
                                      R"json({"ph":"X","cat":"user_annotation","name":"nccl:x","ts":0,"dur":1}]})json");
  const std::string kernel = "[\"K\",0,0,1000,[]";
  std::string text = records_text(trace);
  for (std::size_t gap; (gap = text.find(",{\"gap\"")) != text.npos;) text.erase(gap, text.find('}', gap) + 1 - gap);
  EXPECT_EQ(text, "[\"I\",0]\n[\"S\",0,\"k\"]\n" + kernel +
                      "]\n[\"S\",1,\"forward\"]\n[\"R\",1]\n[\"S\",2,\"Conv2d_0\"]\n[\"L\",2]\n" + kernel +
                      "]\n[\"S\",3,\"Linear_0\"]\n[\"L\",3]\n" + kernel +
                      "]\n[\"S\",4,\"backward\"]\n[\"R\",4]\n[\"L\",2]\n" + kernel + "]\n[\"L\",3]\n" + kernel +
                      "]\n[\"S\",5,\"optimizer\"]\n[\"R\",5]\n[\"S\",6,\"\"]\n[\"L\",6]\n" + kernel + "]\n");
}

// Newer files say it beside the kernel: 1024 floats among 2 ranks of group "0". Older ones in the annotation around the
// launch: 512 floats; an all-gather there is told one rank's part, of how many ranks is not said. The block of 4096 B
// is what the first one reduces.
const std::string kNccl = R"json({"traceEvents":[
{"ph":"i","name":"[memory]","tid":7,"ts":5,"args":{"Addr":4096,"Bytes":4096,"Device Type":1,"Device Id":0}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernelExC","ts":10,"dur":1,"tid":7,"args":{"correlation":1}},
{"ph":"X","cat":"user_annotation","name":"nccl:all_to_all","ts":19,"dur":9,"tid":7,"args":{"Input Dims":[[512]],"Input type":["float"]}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","ts":20,"dur":1,"tid":7,"args":{"correlation":2}},
{"ph":"X","cat":"user_annotation","name":"nccl:_all_gather_base","ts":29,"dur":9,"tid":7,"args":{"Input Dims":[[512]],"Input type":["float"]}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","ts":30,"dur":1,"tid":7,"args":{"correlation":3}},
{"ph":"X","cat":"kernel","name":"ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)","ts":100,"dur":3,"args":{"correlation":1,"device":0,"stream":7,"Collective name":"allreduce","In msg nelems":1024,"Out msg nelems":1024,"Group size":2,"dtype":"Float","Process Group Name":"0"}},
{"ph":"X","cat":"kernel","name":"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)","ts":110,"dur":3,"args":{"correlation":2,"device":0,"stream":7}},
{"ph":"X","cat":"kernel","name":"ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclWorkElem)","ts":120,"dur":3,"args":{"correlation":3,"device":0,"stream":7}}
]})json";

TEST(Kineto, KernelsOfNcclAreCollectivesWhereTheFileSaysTheirBytes) {
  const trace::Trace trace = imported(kNccl);
  EXPECT_EQ(records_text(trace),
            "[\"A\",1,4096,7]\n"
            "[\"X\",0,0,1,4096,[[1,3,0]],{\"ranks\":2,\"dur\":3000}]\n"
            "[\"H\",9000,0,[]]\n"
            "[\"X\",4,0,1,2048,[],{\"dur\":3000}]\n"
            "[\"S\",0,\"ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclWorkElem)\"]\n"
            "[\"K\",0,1,3000,[],{\"gap\":9000}]\n");
  EXPECT_THAT(trace.header.unknowns,
              testing::IsSupersetOf({"1 collectives: their operands are not known; they touch nothing",
                                     "1 kernels of NCCL: of how many bytes is not said, so they stay kernels that take "
                                     "their recorded time"}));
}

// As PyTorch before 2.2: no record function ids. The observer saw "ProfilerStep", mul and mm on its thread 1, which is
// thread 7 here: 8 has the same names twice.
TEST(Kineto, AnOlderObserverIsJoinedByTheOrderOfItsOperators) {
  const std::string observed = R"json({"schema":"1.0.1","pid":1,"nodes":[
{"name":"ProfilerStep#1","id":2,"rf_id":1,"tid":1,"inputs":[],"outputs":[]},
{"name":"aten::mul","id":3,"rf_id":2,"tid":1,"inputs":[[1,2,0,8,4,"cuda:0"]],"outputs":[]},
{"name":"aten::mm","id":4,"rf_id":3,"tid":1,"inputs":[[3,5,0,1024,4,"cuda:0"]],"outputs":[]}]})json";
  const auto op = [](const char* name, int external, int thread) {
    return R"({"ph":"X","cat":"cpu_op","name":")" + std::string(name) + R"(","ts":100,"dur":40,"tid":)" +
           std::to_string(thread) + R"(,"args":{"External id":)" + std::to_string(external) + "}},";
  };
  const std::string twice = op("aten::mul", 3, 8) + op("aten::mm", 4, 8) + op("aten::mul", 5, 8) + op("aten::mm", 6, 8);
  const auto events = [&](const std::string& ops) {
    return R"({"schemaVersion":1,"traceEvents":[)" + ops + R"json(
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","ts":110,"dur":1,"tid":7,"args":{"correlation":55}},
{"ph":"X","cat":"kernel","name":"k","ts":200,"dur":1,"args":{"External id":55,"correlation":55,"device":1,"stream":7}}
]})json";
  };
  const auto both = [&](const std::string& ops) {
    return std::vector{ImportFile::of("k", events(ops)), ImportFile::of("et", observed)};
  };
  const std::string once = op("aten::mm", 2, 7) + op("aten::mul", 1, 7);
  const trace::Trace trace = imported(both(once + twice));
  EXPECT_EQ(records_text(trace), "[\"A\",1,4096,5]\n[\"S\",0,\"k\"]\n[\"K\",0,1,1000,[[1,1,0]]]\n[\"F\",1]\n");
  EXPECT_EQ(trace.header.operands_status, "exact");
  EXPECT_EQ(trace.header.devices.size(), 1u);  // storages are where their kernels run
  EXPECT_THAT(import_errors(both(twice)), testing::HasSubstr("do not occur in it once, in their order"));
}

// The recording began between the launches of a and b, so a is left out. (A call with the same correlation that began
// when the kernel had ended is another one's.) 4 KiB of the 6 KiB allocated after the first event were there before, of
// which 1 KiB is freed later.
TEST(Kineto, WhatCameBeforeTheRecording) {
  const trace::Trace trace = imported(R"json({"traceEvents":[
{"ph":"i","name":"[memory]","pid":1,"tid":7,"ts":90,"args":{"Addr":4096,"Bytes":2048,"Device Type":1,"Device Id":0,"Total Allocated":6144}},
{"ph":"i","name":"[memory]","pid":1,"tid":7,"ts":500,"args":{"Addr":65536,"Bytes":-1024,"Device Type":1,"Device Id":0,"Total Allocated":5120}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","ts":100,"dur":5,"pid":1,"tid":7,"args":{"correlation":2}},
{"ph":"X","cat":"cuda_runtime","name":"cudaGraphLaunch","ts":120,"dur":5,"pid":1,"tid":7,"args":{"correlation":3}},
{"ph":"X","cat":"cuda_runtime","name":"cudaFree","ts":400,"dur":5,"pid":1,"tid":7,"args":{"correlation":1}},
{"ph":"X","cat":"kernel","name":"a","ts":200,"dur":1,"args":{"correlation":1,"device":0,"stream":7}},
{"ph":"X","cat":"kernel","name":"b","ts":300,"dur":1,"args":{"correlation":2,"device":0,"stream":7}},
{"ph":"X","cat":"kernel","name":"c","ts":310,"dur":1,"args":{"correlation":3,"device":0,"stream":7}},
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#3","ts":80,"dur":300},
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#4","ts":380,"dur":1}
]})json");
  EXPECT_EQ(records_text(trace),
            "[\"A\",1,1024,7]\n[\"A\",2,3072,7]\n[\"I\",0]\n[\"A\",3,2048,7]\n"
            "[\"S\",0,\"b\"]\n[\"K\",0,1,1000,[]]\n"
            "[\"S\",1,\"c\"]\n[\"K\",1,1,1000,[],{\"gap\":15000}]\n"
            "[\"F\",1]\n");
  EXPECT_THAT(trace.header.unknowns,
              testing::IsSupersetOf({testing::HasSubstr("3072 bytes: allocated before"),
                                     testing::HasSubstr("1 kernels of CUDA graphs: no operators"),
                                     testing::HasSubstr("1 kernels and copies: called before the recording began")}));
}

TEST(Kineto, TwoDocumentsInAFileAreRefused) {
  EXPECT_THAT(import_errors(kEvents + "\n" + kEvents), testing::HasSubstr("a second document follows the first"));
}

TEST(Kineto, SchemaMarksSayWhatIsWritten) {
  const char* add = "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)";
  EXPECT_EQ(alias_of(add, 0, false), Alias::Written);
  EXPECT_EQ(alias_of(add, 1, false), Alias::None);
  EXPECT_EQ(alias_of(add, 0, true), Alias::Written);
  const char* view = "aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]";
  EXPECT_EQ(alias_of(view, 0, true), Alias::View);
  const char* two = "aten::sort(Tensor self, int[2] dim=[0, 1]) -> (Tensor values, Tensor(b!) indices)";
  EXPECT_EQ(alias_of(two, 0, true), Alias::None);
  EXPECT_EQ(alias_of(two, 1, true), Alias::Written);
  EXPECT_EQ(alias_of("", 0, false), Alias::None);
}

TEST(Kineto, ACutFileAndBadEventsAreNamedByLine) {
  EXPECT_THAT(import_errors(kEvents.substr(0, kEvents.size() - 40)), testing::StartsWith("f:15: syntax error"));
  std::string bad = kEvents;
  bad.replace(bad.find("\"ts\":200"), 8, "\"ts\":\"x\"");
  bad.replace(bad.find("\"Addr\":8192"), 11, "\"Addr\":null");
  EXPECT_EQ(import_errors(bad),
            "f:6: event \"[memory]\": expected \"Addr\" and \"Bytes\", whole numbers\n"
            "f:9: event \"volta_sgemm_32x32_nn\": expected \"ts\", microseconds");
  EXPECT_EQ(import_errors(R"({"traceEvents":[]})"), "f: expected kernels of a GPU; the profiler recorded none");
}

}  // namespace
}  // namespace uvmsim
