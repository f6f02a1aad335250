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
  EXPECT_THAT(records_text(trace), testing::StartsWith("[\"A\",1,6144,5]\n[\"A\",2,2048,5]\n[\"A\",3,2048,7]\n"
                                                       "[\"S\",0,\"volta_sgemm_32x32_nn\"]\n"
                                                       "[\"K\",0,1,31250,[[1,1,0,2048],[2,1,0],[3,2,0]],"));
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

// PyTorch before 2.2 gives operators no record function id.
TEST(Kineto, AnObserverThatCannotBeJoinedIsRefused) {
  std::string events = kEvents;
  events.replace(events.find("\"Record function id\":12,"), 24, "");
  EXPECT_THAT(import_errors({ImportFile::of("k", events), ImportFile::of("et", kOperators)}),
              testing::HasSubstr("k: gives no operator a \"Record function id\""));
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
