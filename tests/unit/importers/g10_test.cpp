#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/imported.h"

namespace uvmsim {
namespace {

const std::string kKernels =
    "Kernel ID: 0, Name: Conv2d_Forward\n"
    "Parent Layer ID:0; Name:Conv2d\n"
    "Execution Time: 1200\n"
    "(512,3,299,299)\n"
    "Input Tensors:\n"
    "tensor2 Is weight (global)?: 1, Size in byte: 4096, Range:0--4096\n"
    "tensor0 Is weight (global)?: 0, Size in byte: 8192, Range:4096--12288\n"
    "Output Tensors:\n"
    "tensor1 Is weight (global)?: 0, Size in byte: 16384, Range:12288--28672\n"
    "____________________________________________________________________\n"
    "Kernel ID: 1, Name: Conv2d_Apply_Grad\n"
    "Parent OP ID:1; Name: Conv2d\n"
    "Execution Time: 1000\n"
    "Input Tensors:\n"
    "tensor2 Is weight (global)?: 1, Size in byte: 4096, Range:0--4096\n"
    "tensor1 Is weight (global)?: 0, Size in byte: 16384, Range:12288--28672\n"
    "Output Tensors:\n"
    "tensor2 Is weight (global)?: 1, Size in byte: 4096, Range:0--4096\n"
    "____________________________________________________________________\n";
const std::string kTimes = "0000 0.500000 ms\n0001 1.250001 ms\n";
const std::string kSettings =
    "output_folder           ../results/Toy/8-lru\nbatch_size 8\nnum_iteration 2\n"
    "nn_model_input_file     ../frontend/Nets/Toy.txt\nGPU_memory_size_GB      40\nGPU_frequency_GHz       2\n";

// Weights (tensor 2) are there before the iteration, the others live from the first kernel that uses them to the last.
// 1200 cycles at 1.2 GHz are 1 us; 1000 are 833.3 ns.
TEST(G10, KernelsWithTheirTensorsBecomeOneIteration) {
  const trace::Trace trace = imported(kKernels);
  EXPECT_EQ(records_text(trace),
            "[\"A\",1,4096,0]\n"
            "[\"I\",0]\n"
            "[\"S\",0,\"Conv2d 0\"]\n[\"L\",0]\n"
            "[\"A\",2,8192,5]\n"
            "[\"A\",3,16384,7]\n"
            "[\"S\",1,\"Conv2d_Forward\"]\n[\"K\",1,0,1000,[[1,1,0],[2,1,0],[3,2,0]]]\n"
            "[\"F\",2]\n"
            "[\"S\",2,\"Conv2d 1\"]\n[\"L\",2]\n"
            "[\"S\",3,\"Conv2d_Apply_Grad\"]\n[\"K\",3,0,833,[[1,3,0],[3,1,0]]]\n"
            "[\"F\",3]\n");
  EXPECT_EQ(trace.header.operands_status, "exact");
}

TEST(G10, TimesAndSettingsReplaceTheCyclesAndNameTheRun) {
  const trace::Trace trace = imported({ImportFile::of("cudnn8.txt", kTimes), ImportFile::of("kernels.config", kKernels),
                                       ImportFile::of("8-sim_lru.config", kSettings)});
  EXPECT_THAT(records_text(trace), testing::HasSubstr("[\"K\",1,0,500000,"));
  EXPECT_THAT(records_text(trace), testing::HasSubstr("[\"K\",3,0,1250001,"));
  EXPECT_EQ(trace.header.name, "Toy, batch 8");
  EXPECT_EQ(trace.header.samples, 8);
  EXPECT_EQ(trace.header.devices.at(0).memory_bytes, std::int64_t{40} << 30);
}

TEST(G10, TheClockOfTheSettingsTurnsCyclesIntoTime) {
  const trace::Trace trace = imported({ImportFile::of("k", kKernels), ImportFile::of("s", kSettings)});
  EXPECT_THAT(records_text(trace), testing::HasSubstr("[\"K\",1,0,600,"));  // 1200 cycles at 2 GHz
}

TEST(G10, TimesWithoutKernelsOrOfOtherKernelsAreRefused) {
  EXPECT_THAT(import_errors(kTimes), testing::HasSubstr("expected also the kernels.config"));
  EXPECT_EQ(import_errors({ImportFile::of("k", kKernels), ImportFile::of("t", "0000 0.5 ms\n")}),
            "t: expected the times of 2 kernels, found 1");
  EXPECT_EQ(import_errors({ImportFile::of("k", kKernels), ImportFile::of("t", "0000 x ms\n0001 1 ms\n")}, "g10"),
            "t: is not g10: kernels.config of G10, with its kernel times and run configuration");
}

TEST(G10, EveryBadLineIsNamed) {
  std::string text = kKernels;
  text.replace(text.find("1200"), 4, "-100");
  text.replace(text.find("Size in byte: 8192"), 18, "Size in byte: many");
  text.replace(text.find("Kernel ID: 1"), 12, "Kernel ID: 7");
  EXPECT_THAT(import_errors(text), testing::StartsWith("f:3: expected cycles, found \"-100\"\n"
                                                       "f:7: expected bytes, found \" many\"\n"
                                                       "f:11: expected kernel 1, found \"7\""));
}

}  // namespace
}  // namespace uvmsim
