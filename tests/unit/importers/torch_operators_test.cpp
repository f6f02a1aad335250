#include "importers/torch_operators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/user_error.h"
#include "support/imported.h"
#include "workload/generators/dnn/ops.h"

namespace uvmsim {
namespace {

const std::string kHead = "{\"k\":\"header\",\"uvmsim_torch\":1,\"torch\":\"1.13.0\",\"name\":\"net\",\"samples\":8}\n";
const std::string kEnd = "{\"k\":\"end\"}\n";

std::string tensor(int id, std::int64_t bytes, const std::string& kind) {
  return "{\"k\":\"tensor\",\"id\":" + std::to_string(id) + ",\"bytes\":" + std::to_string(bytes) + ",\"is\":\"" +
         kind + "\"}\n";
}
// An operand that is all of tensor `id`, in f32.
std::string all_of(int id, const std::vector<std::int64_t>& shape) {
  std::int64_t bytes = 4;
  std::string extents;
  for (const std::int64_t extent : shape) {
    bytes *= extent;
    extents += (extents.empty() ? "" : ",") + std::to_string(extent);
  }
  return "[" + std::to_string(id) + ",0," + std::to_string(bytes) + ",\"f32\",[" + extents + "]]";
}
std::string op(const std::string& name, const std::string& reads, const std::string& writes,
               const std::string& arguments = "{}") {
  return "{\"k\":\"op\",\"n\":\"" + name + "\",\"r\":[" + reads + "],\"w\":[" + writes + "],\"a\":" + arguments + "}\n";
}

trace::Trace read(const std::string& lines, const std::string& gpu = "v100") {
  return read_torch_operators(ImportFile::of("f", kHead + lines + kEnd), dnn::roofline_device(gpu));
}

std::string errors_of(const std::string& text) {
  try {
    read_torch_operators(ImportFile::of("f", text), dnn::roofline_device("v100"));
    return "";
  } catch (const UserError& error) {
    return error.what();
  }
}

std::vector<trace::Kernel> kernels(const trace::Trace& trace) {
  std::vector<trace::Kernel> all;
  for (const trace::Record& record : trace.records)
    if (const auto* kernel = std::get_if<trace::Kernel>(&record)) all.push_back(*kernel);
  return all;
}

// The kernels that the generators' operations record for `work`.
std::vector<trace::Kernel> generated(const std::function<void(dnn::Recorder&)>& work) {
  TraceBuilder builder{trace::Header{}};
  dnn::Recorder recorder({.device = dnn::roofline_device("v100"), .torch = dnn::TorchVersion::V2_x}, builder);
  work(recorder);
  return kernels(builder.take());
}

void expect_same_work(const trace::Trace& trace, const std::vector<trace::Kernel>& expected) {
  const std::vector<trace::Kernel> found = kernels(trace);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].duration_ns, expected[i].duration_ns) << trace.strings[static_cast<std::size_t>(found[i].name)];
    EXPECT_EQ(found[i].flops, expected[i].flops);
    EXPECT_EQ(found[i].accesses.count, expected[i].accesses.count);
  }
}

// 900 MB read and 900 MB written at 85 % of 900 GB/s: 1.8 GB / 765 GB/s = 2.3529 ms.
TEST(TorchOperators, BecomeKernelsOfTheRoofline) {
  const std::vector<std::int64_t> shape = {225, 1000000};
  const trace::Trace trace = read(
      "{\"k\":\"iteration\"}\n{\"k\":\"phase\",\"n\":\"forward\"}\n{\"k\":\"layer\",\"n\":\"act\"}\n" +
      tensor(7, 900000000, "input") + "{\"k\":\"upload\",\"w\":[" + all_of(7, shape) + "]}\n" +
      tensor(9, 900000000, "act") + op("relu", all_of(7, shape), all_of(9, shape)) + "{\"k\":\"gone\",\"id\":7}\n");
  EXPECT_EQ(records_text(trace),
            "[\"I\",0]\n[\"S\",0,\"forward\"]\n[\"R\",0]\n[\"S\",1,\"act\"]\n[\"L\",1]\n[\"A\",1,900000000,5]\n"
            "[\"C\",0,0,900000000,[[1,2,0]]]\n[\"A\",2,900000000,3]\n[\"S\",2,\"relu\"]\n"
            "[\"K\",2,0,2352941,[[1,1,0],[2,2,0]],{\"fl\":225000000}]\n[\"F\",1]\n");
  EXPECT_EQ(trace.header.provenance, "PyTorch 1.13.0 on meta tensors");
  EXPECT_EQ(trace.header.operands_status, "exact");
  EXPECT_EQ(trace.header.samples, 8);
}

TEST(TorchOperators, AConvolutionIsThatOfTheGenerators) {
  const dnn::Shape x = {8, 64, 56, 56}, weight = {128, 64, 3, 3}, bias = {128}, y = {8, 128, 56, 56};
  const std::string lines = tensor(1, 4 * 8 * 64 * 56 * 56, "act") + tensor(2, 4 * 128 * 64 * 9, "param") +
                            tensor(3, 4 * 128, "param") + tensor(4, 4 * 8 * 128 * 56 * 56, "act") +
                            op("convolution", all_of(1, x) + "," + all_of(2, weight) + "," + all_of(3, bias),
                               all_of(4, y), "{\"groups\":1,\"transposed\":false}");
  expect_same_work(read(lines), generated([&](dnn::Recorder& r) {
                     const auto parameter = [&](dnn::Shape shape) {
                       return dnn::Tensor(r, std::move(shape), dnn::DataType::Float32, TensorKind::Param);
                     };
                     dnn::conv(parameter(x), parameter(weight), parameter(bias), {.padding = dnn::kSame});
                   }));
}

TEST(TorchOperators, AProductIsThatOfTheGenerators) {
  const dnn::Shape x = {4096, 1024}, weight = {512, 1024}, bias = {512}, y = {4096, 512};
  // The weight is given as a transposed view.
  const std::string view = "[2,0,2097152,\"f32\",[1024,512],1]";
  const std::string lines = tensor(1, 4 * 4096 * 1024, "act") + tensor(2, 4 * 512 * 1024, "param") +
                            tensor(3, 4 * 512, "param") + tensor(4, 4 * 4096 * 512, "act") +
                            op("addmm", all_of(3, bias) + "," + all_of(1, x) + "," + view, all_of(4, y));
  expect_same_work(read(lines), generated([&](dnn::Recorder& r) {
                     const auto parameter = [&](dnn::Shape shape) {
                       return dnn::Tensor(r, std::move(shape), dnn::DataType::Float32, TensorKind::Param);
                     };
                     dnn::linear(parameter(x), parameter(weight), parameter(bias));
                   }));
}

// Chunks of 65536 elements: 400 and 2 of them, of which the first kernel has 320 of the first tensor, the second its
// other 80 and both of the second tensor, whose last one is short. What is updated is one operand, read and written.
TEST(TorchOperators, OverListsAreKernelsOfUpTo320Chunks) {
  const std::string a = all_of(1, {400, 65536}), b = all_of(2, {65536 + 100});
  const std::string c = all_of(3, {400, 65536}), d = all_of(4, {65536 + 100});
  const trace::Trace trace =
      read(tensor(1, 400 * 262144, "param") + tensor(2, 262144 + 400, "param") + tensor(3, 400 * 262144, "wgrad") +
           tensor(4, 262144 + 400, "wgrad") + op("_foreach_add_", a + "," + b + "," + c + "," + d, a + "," + b));
  EXPECT_THAT(
      records_text(trace),
      testing::AllOf(
          testing::HasSubstr(
              "[1,3,6,0,83886080,{\"tile\":[320,65536,262144]}],[3,1,6,0,83886080,{\"tile\":[320,65536,262144]}]]"),
          testing::HasSubstr("[[1,3,6,83886080,20971520,{\"tile\":[80,65536,262144]}],"
                             "[3,1,6,83886080,20971520,{\"tile\":[80,65536,262144]}],"
                             "[2,3,6,{\"tile\":[1,65536,262144]}],[4,1,6,{\"tile\":[1,65536,262144]}]]")));
}

// Zeroes the table's gradient, sorts 100 indices with their positions (4 int64 each) in a workspace, sums.
TEST(TorchOperators, AnEmbeddingsGradientHasAWorkspace) {
  const std::string index = "[2,0,800,\"i64\",[100]]";
  const trace::Trace trace =
      read(tensor(1, 4 * 100 * 64, "grad") + tensor(2, 800, "input") + tensor(3, 4 * 1000 * 64, "wgrad") +
           op("embedding_dense_backward", all_of(1, {100, 64}) + "," + index, all_of(3, {1000, 64})));
  EXPECT_EQ(kernels(trace).size(), 3u);
  EXPECT_THAT(records_text(trace), testing::HasSubstr("[\"A\",4,3200,6]"));
  EXPECT_THAT(records_text(trace), testing::EndsWith("[\"F\",4]\n"));
}

// Rows of 64 floats, 256 B, of a table of 1000: 100 that are looked up, in 50 bags or one by one, or that a sparse
// gradient has. A mask of 1000 selects elements: everything is swept.
TEST(TorchOperators, OfATableOnlyTheRowsThatAreNamedAreTouched) {
  const std::string table = tensor(1, 256 * 1000, "param"), indices = tensor(2, 800, "input");
  const std::string index = "[2,0,800,\"i64\",[100]]", rows = "{\"g\":256,\"n\":100}";
  const std::string looked_up = "[1,1,2," + rows + "]";
  EXPECT_THAT(records_text(read(table + indices + tensor(3, 256 * 100, "act") +
                                op("index", all_of(1, {1000, 64}) + "," + index, all_of(3, {100, 64})))),
              testing::HasSubstr(looked_up));
  EXPECT_THAT(records_text(read(table + indices + tensor(3, 256 * 50, "act") + tensor(4, 400, "input") +
                                op("_embedding_bag", all_of(1, {1000, 64}) + "," + index + ",[4,0,400,\"i64\",[50]]",
                                   all_of(3, {50, 64})))),
              testing::HasSubstr(looked_up));
  EXPECT_THAT(records_text(read(table + indices + tensor(3, 256 * 100, "grad") +
                                op("add_", all_of(1, {1000, 64}) + ",[2,0,800,\"i64\",[1,100]]," + all_of(3, {100, 64}),
                                   all_of(1, {1000, 64})))),
              testing::HasSubstr("[1,3,2," + rows + "]"));
  EXPECT_THAT(
      records_text(read(table + tensor(2, 1000, "input") + tensor(3, 256 * 100, "act") +
                        op("index", all_of(1, {1000, 64}) + ",[2,0,1000,\"bool\",[1000]]", all_of(3, {100, 64})))),
      testing::Not(testing::HasSubstr("[1,1,2")));
}

// An H100 has 3350 GB/s where a V100 has 900.
TEST(TorchOperators, TakeWhatTheGpuTakes) {
  const std::vector<std::int64_t> shape = {1000, 1000000};
  const std::string lines = tensor(1, 4000000000, "act") + op("relu_", all_of(1, shape), all_of(1, shape));
  const double v100 = static_cast<double>(kernels(read(lines))[0].duration_ns);
  const double h100 = static_cast<double>(kernels(read(lines, "h100"))[0].duration_ns);
  EXPECT_NEAR(v100 / h100, 3350.0 / 900.0, 1e-4);
}

TEST(TorchOperators, EveryBadLineIsNamed) {
  EXPECT_EQ(
      errors_of(kHead + tensor(1, 0, "act") + tensor(2, 8, "nothing") + "{\"k\":\"gone\",\"id\":5}\n" +
                tensor(3, 16, "act") + op("relu", "[3,8,16,\"f32\",[4]]", "") + op("relu", "[3,0,16,\"f31\",[4]]", "") +
                op("relu", "", "") + op("convolution", all_of(3, {4}) + "," + all_of(3, {4}), all_of(3, {4})) +
                op("softmax_backward_data", "3", "") + "no\n" + kEnd),
      "trace torch: 9 errors\n"
      "  f:2: expected \"bytes\" of 1..281474976710656\n"
      "  f:3: expected a kind of tensor, found \"nothing\"\n"
      "  f:4: tensor 5 is not there\n"
      "  f:6: expected a length in the tensor of 1..8\n"
      "  f:7: expected a type of elements, found \"f31\"\n"
      "  f:8: expected an operator that writes something\n"
      "  f:9: expected a convolution over one to three extents\n"
      "  f:10: expected operands as [id, offset, length, type, shape]\n"
      "  f:11: expected one JSON object a line");
}

TEST(TorchOperators, ARecordingIsWhole) {
  EXPECT_THAT(errors_of(kHead), testing::HasSubstr("ends before its \"end\" line"));
  EXPECT_THAT(errors_of(tensor(1, 8, "act")), testing::HasSubstr("f:1: expected the header of uvmsim-torch"));
}

TEST(TorchOperators, AScriptsOwnFailureIsSaidAsItIs) {
  EXPECT_EQ(errors_of("{\"k\":\"error\",\"place\":\"my_model.py:12\",\"message\":\"ValueError: no\"}\n"),
            "my_model.py:12: ValueError: no");
}

}  // namespace
}  // namespace uvmsim
