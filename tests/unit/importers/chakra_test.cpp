#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/imported.h"

namespace uvmsim {
namespace {

// The pieces of a protobuf message.
std::string varint(std::size_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7f) | 0x80);
  return bytes + static_cast<char>(value);
}
std::string number(std::size_t field, std::size_t value) { return varint(field << 3) + varint(value); }
std::string delimited(const std::string& bytes) { return varint(bytes.size()) + bytes; }
std::string text(std::size_t field, const std::string& bytes) { return varint(field << 3 | 2) + delimited(bytes); }
std::string attribute(const std::string& name, std::size_t field, std::size_t value) {
  return text(10, text(1, name) + number(field, value));
}
std::string node(const std::string& name, std::size_t type, std::size_t start, std::size_t duration) {
  return number(1, 9) + text(2, name) + number(3, type) + number(6, start) + number(7, duration);
}

const char* const kTwo = "[[2, 6, 0, 128, 4, 'cuda:0']]";

// 256 floats of storage 5 in, 128 of storage 6 out; then an all-reduce over these; an operator of the CPU; a barrier.
std::string stream() {
  return delimited(text(1, "0.0.4")) +
         delimited(node("gemm", 4, 120, 30) + text(8, text(1, "[[1, 5, 0, 256, 4, 'cuda:0'], 2.0]")) +
                   text(9, text(1, kTwo)) + attribute("stream", 9, 7)) +
         delimited(node("aten::mm", 4, 100, 60) + attribute("is_cpu_op", 27, 1)) +
         delimited(node("all_reduce", 7, 160, 50) + text(8, text(1, kTwo)) + attribute("comm_type", 9, 0) +
                   attribute("comm_size", 9, 512)) +
         delimited(node("barrier", 7, 220, 5) + attribute("comm_type", 9, 9));
}

TEST(Chakra, NodesOfTheGpuBecomeKernelsAndCollectives) {
  const trace::Trace trace = imported(stream());
  EXPECT_EQ(records_text(trace),
            "[\"A\",1,1024,7]\n[\"A\",2,512,7]\n"
            "[\"S\",0,\"gemm\"]\n[\"K\",0,1,30000,[[1,1,0],[2,2,0]]]\n"
            "[\"F\",1]\n"
            "[\"X\",0,0,0,512,[[2,1,0]],{\"dur\":50000}]\n"
            "[\"F\",2]\n");
  EXPECT_THAT(trace.header.unknowns,
              testing::ElementsAre("1 collectives of a kind that a trace does not have: left out",
                                   "1 operators of the CPU: left out",
                                   "1 traces without frees: a storage is freed after the last node that names it"));
}

// As Chakra's own converter writes it: metadata of attributes without a version, 130 bytes and more.
TEST(Chakra, MetadataMayBeginWithAttributesAndBeLong) {
  const std::string attributes =
      text(2, text(1, "schema") + text(29, "1.0.1")) + text(2, text(1, std::string(120, 'x')));
  const std::string rest = stream().substr(delimited(text(1, "0.0.4")).size());
  EXPECT_EQ(records_text(imported(delimited(attributes) + rest)), records_text(imported(stream())));
}

// Storage 5 is named last by an operator of the CPU, and 8 lies on the CPU: the GPU's last use frees 5, and 8 is
// nothing.
TEST(Chakra, WhatTheCpuNamesIsNotKeptAlive) {
  const trace::Trace trace = imported(
      delimited(text(1, "0.0.4")) +
      delimited(node("gemm", 4, 120, 30) + text(8, text(1, "[[1, 5, 0, 256, 4, 'cuda:0'], [3, 8, 0, 64, 4, 'cpu']]"))) +
      delimited(node("aten::mm", 4, 200, 60) + text(8, text(1, "[[1, 5, 0, 512, 4, 'cuda:0']]")) +
                attribute("is_cpu_op", 27, 1)));
  EXPECT_EQ(records_text(trace), "[\"A\",1,1024,7]\n[\"S\",0,\"gemm\"]\n[\"K\",0,0,30000,[[1,1,0]]]\n[\"F\",1]\n");
}

// What Chakra's feeder reads: no tensors, so nothing is known of what its kernels touch.
TEST(Chakra, AWorkloadGraphGivesKernelsWithoutOperands) {
  const trace::Trace trace = imported(R"json({"workload_graph":[
{"Id":1,"Name":"aten::cat","NodeType":4,"runtime":318,"is_cpu_op":true},
{"Id":2,"Name":"CatArray","NodeType":4,"runtime":4,"is_cpu_op":false}]})json");
  EXPECT_EQ(records_text(trace), "[\"S\",0,\"CatArray\"]\n[\"K\",0,0,4000,[]]\n");
  EXPECT_THAT(trace.header.unknowns, testing::Contains("1 kernels: the node names no tensors; they touch nothing"));
  EXPECT_EQ(trace.header.operands_status, "none");
}

TEST(Chakra, TheJsonFormSaysTheSame) {
  const trace::Trace trace = imported(R"json({"version":"0.0.4"}
{"id":"3","name":"gemm","type":"COMP_NODE","ctrlDeps":["2"],"startTimeMicros":"120","durationMicros":"30",
 "inputs":{"values":"[[1, 5, 0, 256, 4, 'cuda:0']]"},"attr":[{"name":"stream","int64Val":"7"}]}
{"id":"2","name":"aten::mm","type":"COMP_NODE","startTimeMicros":"100","attr":[{"name":"is_cpu_op","boolVal":true}]}
)json");
  EXPECT_EQ(records_text(trace), "[\"A\",1,1024,7]\n[\"S\",0,\"gemm\"]\n[\"K\",0,1,30000,[[1,1,0]]]\n[\"F\",1]\n");
}

// Groups "7" and "default" are communicators 0 and 1; a send's peer is in another file.
TEST(Chakra, ProcessGroupsAreCommunicatorsInTheOrderOfTheirUse) {
  const auto node_of = [](const std::string& type, int start, const std::string& attributes) {
    return R"({"id":")" + std::to_string(start) + R"(","name":"c","type":")" + type + R"(","startTimeMicros":")" +
           std::to_string(start) +
           R"(","attr":[{"name":"comm_size","int64Val":"64"},{"name":"comm_type","int64Val":"0"})" + attributes +
           "]}\n";
  };
  const auto group = [](const std::string& name) { return R"(,{"name":"pg_name","stringVal":")" + name + R"("})"; };
  const trace::Trace trace =
      imported("{\"version\":\"0.0.4\"}\n" + node_of("COMM_COLL_NODE", 1, group("7")) +
               node_of("COMM_COLL_NODE", 2, group("default")) + node_of("COMM_SEND_NODE", 3, group("7")));
  EXPECT_EQ(records_text(trace), "[\"X\",0,0,0,64,[]]\n[\"X\",0,1,0,64,[]]\n[\"X\",5,0,0,64,[]]\n");
  EXPECT_THAT(trace.header.unknowns,
              testing::ElementsAre(
                  "1 process groups after the first: their members are not said; every replica takes part",
                  "1 sends and receives: the peer's trace is another file; they pass bytes round all replicas"));
}

TEST(Chakra, ACutStreamIsRefusedByByte) {
  const std::string whole = stream();
  EXPECT_THAT(import_errors(whole.substr(0, whole.size() - 3)),
              testing::ContainsRegex("f: byte [0-9]+: a message is cut short"));
}

// The metadata take 8 bytes; the name of the node behind them says 99 bytes and has none. A field of another type than
// et_def.proto gives it, here the name as a number, is one that nobody knows.
TEST(Chakra, AFieldThatIsLongerThanItsNodeIsRefusedByByte) {
  const std::string metadata = delimited(text(1, "0.0.4"));
  EXPECT_THAT(import_errors(metadata + delimited(number(3, 4) + varint(2 << 3 | 2) + varint(99))),
              testing::HasSubstr("f: byte 8: no protobuf message: end of buffer"));
  EXPECT_EQ(records_text(imported(metadata + delimited(number(2, 5) + number(3, 4) + number(6, 1) + number(7, 2)))),
            "[\"S\",0,\"\"]\n[\"K\",0,0,2000,[]]\n");
}

}  // namespace
}  // namespace uvmsim
