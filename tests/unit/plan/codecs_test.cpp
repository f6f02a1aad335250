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

}  // namespace
}  // namespace uvmsim
