#include <gtest/gtest.h>

#include "plan/codec.h"

namespace uvmsim {
namespace {

class CodecContract : public testing::TestWithParam<std::string> {
 protected:
  const std::unique_ptr<Codec> codec_ = codecs().find(GetParam())->make();
  const BytesPerSecond link_{16'000'000'000};
};

TEST_P(CodecContract, SizesAndTimesAreNotNegativeAndTheSameEachTime) {
  for (const std::int64_t bytes : {1, 4095, 1 << 20})
    for (const std::int64_t element : {1, 2, 4, 8}) {
      const CodecTensor tensor{.kind = "act", .bytes = Bytes{bytes}, .element_bytes = element, .sparsity = 0.3};
      EXPECT_GE(codec_->encoded_bytes(tensor).value, 0);
      EXPECT_EQ(codec_->encoded_bytes(tensor), codec_->encoded_bytes(tensor));
      EXPECT_GE(codec_->encode_time(tensor, link_), Duration{0});
      EXPECT_EQ(codec_->encode_time(tensor, link_), codec_->encode_time(tensor, link_));
      EXPECT_GE(codec_->decode_time(tensor, link_), Duration{0});
      EXPECT_EQ(codec_->allows(tensor), codec_->allows(tensor));
    }
}

TEST_P(CodecContract, MoreZerosAreNotMoreBytes) {
  const auto bytes = [&](double sparsity) {
    return codec_->encoded_bytes({.kind = "act", .bytes = Bytes{1 << 20}, .sparsity = sparsity});
  };
  for (int tenth = 0; tenth < 10; ++tenth) EXPECT_LE(bytes((tenth + 1) / 10.0), bytes(tenth / 10.0)) << tenth;
}

INSTANTIATE_TEST_SUITE_P(All, CodecContract, testing::ValuesIn(codecs().names()),
                         [](const auto& codec) { return codec.param; });

}  // namespace
}  // namespace uvmsim
