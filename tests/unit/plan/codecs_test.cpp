#include <gtest/gtest.h>

#include "plan/codec.h"

namespace uvmsim {
namespace {

std::int64_t encoded(const std::string& codec, CodecTensor tensor) {
  return codecs().find(codec)->make()->encoded_bytes(tensor).value;
}

TEST(Codecs, NoneLeavesATensorAsItIs) {
  const auto none = codecs().find("none")->make();
  const CodecTensor tensor{.bytes = Bytes{1 << 20}, .sparsity = 0.9};
  EXPECT_EQ(none->encoded_bytes(tensor), Bytes{1 << 20});
  EXPECT_EQ(none->encode_time(tensor, BytesPerSecond{1}), Duration{0});
  EXPECT_EQ(none->decode_time(tensor, BytesPerSecond{1}), Duration{0});
}

// 32 elements of 4 B, half of them zero: a mask of 4 B and 16 elements of 4 B, so 128 B * (1/32 + 1/2) = 68 B.
TEST(Codecs, ZvcKeepsAMaskAndWhatIsNotZero) {
  EXPECT_EQ(encoded("zvc", {.bytes = Bytes{128}, .sparsity = 0.5}), 68);
  EXPECT_EQ(encoded("zvc", {.bytes = Bytes{128}, .sparsity = 0.5}), 128 * (1.0 / 32 + 0.5));
}

// Nothing is zero: 1/32 more than before. All is: the mask, 1/32. With elements of 2 B the mask is 1/16.
TEST(Codecs, ZvcPaysForItsMask) {
  EXPECT_EQ(encoded("zvc", {.bytes = Bytes{1 << 20}, .sparsity = 0}), (1 << 20) + (1 << 15));
  EXPECT_EQ(encoded("zvc", {.bytes = Bytes{1 << 20}, .sparsity = 1}), 1 << 15);
  EXPECT_EQ(encoded("zvc", {.bytes = Bytes{1 << 20}, .element_bytes = 2, .sparsity = 1}), 1 << 16);
}

// 33 elements need two masks.
TEST(Codecs, ZvcRoundsUpToWholeMasks) { EXPECT_EQ(encoded("zvc", {.bytes = Bytes{33 * 4}, .sparsity = 1}), 8); }

// At 12 GB/s the 68 bytes take 68 / 12e9 s = 5.667 ns, which is what the copy of them takes.
TEST(Codecs, ZvcKeepsUpWithTheLink) {
  const auto zvc = codecs().find("zvc")->make();
  const BytesPerSecond link{12'000'000'000};
  const CodecTensor tensor{.bytes = Bytes{128}, .sparsity = 0.5};
  EXPECT_EQ(zvc->engine(), CodecEngine::Dma);
  EXPECT_EQ(zvc->encode_time(tensor, link), transfer_time(Bytes{68}, link));
  EXPECT_EQ(zvc->decode_time(tensor, link).count(), 5667);
}

// The same bytes; 8 MB at 8 GB/s take 1 ms each way, whatever the link.
TEST(Codecs, ZvcCpuTakesAHostThread) {
  const auto codec = codecs().find("zvc_cpu")->make();
  const CodecTensor tensor{.bytes = Bytes{8'000'000}, .sparsity = 0.5};
  EXPECT_EQ(codec->engine(), CodecEngine::Cpu);
  EXPECT_EQ(codec->encoded_bytes(tensor).value, encoded("zvc", tensor));
  EXPECT_EQ(codec->encode_time(tensor, BytesPerSecond{1}), microseconds(1000));
  EXPECT_EQ(codec->decode_time(tensor, BytesPerSecond{1}), microseconds(1000));
}

// A row of 256 elements, half of them zero: 128 of 3 B, and 4 B for the row.
TEST(Codecs, CsrFp16KeepsHalfPrecisionAndAByteOfIndex) {
  EXPECT_EQ(encoded("csr_fp16", {.bytes = Bytes{256 * 4}, .sparsity = 0.5}), 128 * 3 + 4);
  EXPECT_EQ(encoded("csr_fp16", {.bytes = Bytes{256 * 4}, .sparsity = 1}), 4);
  EXPECT_EQ(encoded("csr_fp16", {.bytes = Bytes{257 * 4}, .sparsity = 1}), 8);
}

TEST(Codecs, CsrFp16IsForActivations) {
  const auto codec = codecs().find("csr_fp16")->make();
  EXPECT_TRUE(codec->allows({.kind = "act"}));
  EXPECT_FALSE(codec->allows({.kind = "param"}));
}

// The ratio of 4-byte elements by density d is 1 / (d + 1/32): nothing is zero, 32/33; 62 %, 2.431 (cDMA's mean
// density); all is, 32.
TEST(Codecs, ZvcHasTheRatioOfItsFormula) {
  const auto ratio = [](double sparsity) {
    constexpr std::int64_t kBytes = 400 << 20;
    return static_cast<double>(kBytes) /
           static_cast<double>(encoded("zvc", {.bytes = Bytes{kBytes}, .sparsity = sparsity}));
  };
  EXPECT_DOUBLE_EQ(ratio(0), 32.0 / 33);
  EXPECT_NEAR(ratio(0.62), 1 / (0.38 + 1.0 / 32), 1e-6);
  EXPECT_DOUBLE_EQ(ratio(1), 32);
}

// 2^20 elements. Half of them zero: 2^18 runs of each kind of a mean length of 2, one byte each, 2^128 times rarer two;
// with 2^19 elements of 4 B that is 2^21 + 2^19. None or all zero: one run, a byte for each 128 elements, 2^13.
TEST(Codecs, RunLengthKeepsAByteForEachRun) {
  const Bytes bytes{4 << 20};
  EXPECT_EQ(encoded("run_length", {.bytes = bytes, .sparsity = 0.5}), (1 << 21) + (1 << 19));
  EXPECT_EQ(encoded("run_length", {.bytes = bytes, .sparsity = 0}), (4 << 20) + (1 << 13));
  EXPECT_EQ(encoded("run_length", {.bytes = bytes, .sparsity = 1}), 1 << 13);
}

// Half of 2^20 elements zero: which, takes one bit each. All or none: nothing is to be said.
TEST(Codecs, ZlibBoundIsTheEntropyOfWhereZerosAre) {
  const Bytes bytes{4 << 20};
  EXPECT_EQ(encoded("zlib_bound", {.bytes = bytes, .sparsity = 0.5}), (1 << 21) + (1 << 17));
  EXPECT_EQ(encoded("zlib_bound", {.bytes = bytes, .sparsity = 0}), 4 << 20);
  EXPECT_EQ(encoded("zlib_bound", {.bytes = bytes, .sparsity = 1}), 0);
}

TEST(Codecs, NoLosslessCodecIsBelowTheBound) {
  for (const char* codec : {"zvc", "run_length", "ssdc", "zcomp"})
    for (int percent = 0; percent <= 100; percent += 5) {
      const CodecTensor tensor{.bytes = Bytes{1 << 20}, .sparsity = percent / 100.0};
      EXPECT_LE(encoded("zlib_bound", tensor), encoded(codec, tensor)) << codec << " at " << percent << " %";
    }
}

// One bit of 32, whatever is zero. 9 elements take two bytes.
TEST(Codecs, BinarizeKeepsOneBit) {
  EXPECT_EQ(encoded("binarize", {.bytes = Bytes{1 << 20}, .sparsity = 0.3}), (1 << 20) / 32);
  EXPECT_EQ(encoded("binarize", {.bytes = Bytes{9 * 4}}), 2);
}

// 64 bits become 4.
TEST(Codecs, PoolIndexKeepsFourBits) { EXPECT_EQ(encoded("pool_index", {.bytes = Bytes{8 << 10}}), 512); }

// A row of 256 elements of 4 B and 51 of them zero, 20 %: 205 of 5 B and 4 B of the row are 1029 B, more than the
// 1024 that it was; with one more zero it is as large.
TEST(Codecs, SsdcPaysFromAFifthOfZerosOn) {
  EXPECT_EQ(encoded("ssdc", {.bytes = Bytes{1024}, .sparsity = 51.0 / 256}), 205 * 5 + 4);
  EXPECT_EQ(encoded("ssdc", {.bytes = Bytes{1024}, .sparsity = 52.0 / 256}), 204 * 5 + 4);
  EXPECT_EQ(encoded("ssdc", {.bytes = Bytes{1024}, .sparsity = 0.5}), 128 * 5 + 4);
}

// 1/2, 1/3 and 1/4 of elements of 32 bits; 7 elements are 4 words, 3 words and 2 words.
TEST(Codecs, DprKeepsFewerBits) {
  EXPECT_EQ(encoded("dpr_fp16", {.bytes = Bytes{12 << 10}}), 6 << 10);
  EXPECT_EQ(encoded("dpr_fp10", {.bytes = Bytes{12 << 10}}), 4 << 10);
  EXPECT_EQ(encoded("dpr_fp8", {.bytes = Bytes{12 << 10}}), 3 << 10);
  EXPECT_EQ(encoded("dpr_fp16", {.bytes = Bytes{7 * 4}}), 16);
  EXPECT_EQ(encoded("dpr_fp10", {.bytes = Bytes{7 * 4}}), 12);
  EXPECT_EQ(encoded("dpr_fp8", {.bytes = Bytes{7 * 4}}), 8);
}

// 900 GB/s and 600 MB: binarized it is 18.75 MB. Both pass through memory once, so 618.75e6 / 900e9 s = 687.5 us.
TEST(Codecs, KernelsTakeTheTimeOfTheirTraffic) {
  const auto codec = codecs().find("binarize")->make();
  const CodecTensor tensor{.bytes = Bytes{600'000'000}};
  const BytesPerSecond memory{900'000'000'000};
  EXPECT_EQ(codec->engine(), CodecEngine::Sm);
  EXPECT_EQ(codec->encode_time(tensor, memory), nanoseconds(687'500));
  EXPECT_EQ(codec->decode_time(tensor, memory), nanoseconds(687'500));
}

// A vector of 16 elements of 4 B, 8 of them zero: 2 B of header and 8 elements. With elements of 2 B, 32 of them: 4 B.
TEST(Codecs, ZcompKeepsAHeaderPerVector) {
  EXPECT_EQ(encoded("zcomp", {.bytes = Bytes{64}, .sparsity = 0.5}), 2 + 32);
  EXPECT_EQ(encoded("zcomp", {.bytes = Bytes{64}, .element_bytes = 2, .sparsity = 0.5}), 4 + 32);
  EXPECT_EQ(encoded("zcomp", {.bytes = Bytes{1 << 20}, .sparsity = 0.4}),
            encoded("zvc", {.bytes = Bytes{1 << 20}, .sparsity = 0.4}));
}

// All zero: 512 MB and 16 MB of headers are 528 MB of traffic; a copy at 8 GB/s has 1024 MB of it in 64 ms, so 33 ms.
TEST(Codecs, ZcompIsBoundByItsTraffic) {
  const auto codec = codecs().find("zcomp")->make();
  const CodecTensor tensor{.bytes = Bytes{512'000'000}, .sparsity = 1};
  EXPECT_EQ(codec->engine(), CodecEngine::Cpu);
  EXPECT_EQ(codec->encode_time(tensor, BytesPerSecond{1}), microseconds(33'000));
}

// DeepSZ's 46 times for AlexNet; for VGG-16 an action says 116.
TEST(Codecs, RatiosCanBeGiven) {
  EXPECT_EQ(encoded("deepsz", {.bytes = Bytes{46'000}}), 1000);
  EXPECT_EQ(encoded("deepsz", {.bytes = Bytes{116'000}, .ratio = 116}), 1000);
  EXPECT_EQ(encoded("ratio", {.bytes = Bytes{1001}}), 501);
  EXPECT_EQ(encoded("delta_dnn", {.bytes = Bytes{2000}}), 1000);
  EXPECT_EQ(encoded("vector_quantization", {.bytes = Bytes{16'000}}), 1000);
}

TEST(Codecs, WhatLosesBitsTakesTheTensorsThatItIsFor) {
  const auto allows = [](const char* codec, const char* kind) {
    return codecs().find(codec)->make()->allows({.kind = kind});
  };
  for (const char* codec : {"binarize", "dpr_fp16", "dpr_fp10", "dpr_fp8"}) {
    EXPECT_TRUE(allows(codec, "act")) << codec;
    EXPECT_FALSE(allows(codec, "param")) << codec;
  }
  for (const char* codec : {"deepsz", "delta_dnn", "vector_quantization"}) {
    EXPECT_FALSE(allows(codec, "act")) << codec;
    EXPECT_TRUE(allows(codec, "param")) << codec;
  }
  for (const char* codec : {"zvc", "run_length", "zlib_bound", "ssdc", "zcomp"})
    EXPECT_TRUE(allows(codec, "param")) << codec;
}

}  // namespace
}  // namespace uvmsim
