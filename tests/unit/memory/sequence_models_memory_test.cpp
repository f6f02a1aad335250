// What the language models reserve under PyTorch 1.0's allocator, and the largest batches that fit.
#include <gtest/gtest.h>
#include <string>

#include "memory/allocator.h"
#include "support/generate.h"

namespace uvmsim {
namespace {

std::string language_model(const char* dtype, int bptt, int batch) {
  return R"({"dtype": ")" + std::string(dtype) + R"(", "bptt": )" + std::to_string(bptt) + R"(, "batch": )" +
         std::to_string(batch) + "}";
}

// The high-water mark of the same allocator rules in Python, on a re-enactment of the same eager program. Half
// precision keeps two logit-sized tensors of each type: the pool is 8 GB larger than what lives at once.
TEST(LanguageModelMemory, ReservedBytesEqualTheReference) {
  struct Case {
    const char* dtype;
    int bptt, batch;
    std::int64_t reserved;
  };
  const Case cases[] = {
      {"fp32", 1408, 40, 31'313'625'088}, {"fp32", 1408, 44, 34'436'546'560}, {"fp32", 2800, 22, 34'241'511'424},
      {"fp16", 1408, 33, 34'586'886'144}, {"fp16", 1408, 44, 46'100'119'552}, {"fp16", 2800, 22, 45'838'368'768},
  };
  for (const Case& c : cases)
    EXPECT_EQ(place(generate("word_language_model", language_model(c.dtype, c.bptt, c.batch), 3), {})
                  .allocator.peak_reserved_bytes,
              c.reserved)
        << language_model(c.dtype, c.bptt, c.batch);
}

// With 31.5e9 B for cudaMalloc, which takes whole 2 MiB. Published batches: 40 and 32 of 1408 words, 18 and 16 of 2800.
// With bytes counted exactly, as the reference does, the second would be 33.
TEST(LanguageModelMemory, LargestBatchesThatFit) {
  const auto fits = [](const char* dtype, int bptt, int batch) {
    PlacementOptions options;
    options.memory = "device";
    options.device_capacity = Bytes{31'500'000'000};
    return !place(generate("word_language_model", language_model(dtype, bptt, batch), 3), options).out_of_memory;
  };
  EXPECT_TRUE(fits("fp32", 1408, 40));
  EXPECT_FALSE(fits("fp32", 1408, 41));
  EXPECT_TRUE(fits("fp16", 1408, 32));
  EXPECT_FALSE(fits("fp16", 1408, 33));
  EXPECT_TRUE(fits("fp32", 2800, 20));
  EXPECT_FALSE(fits("fp32", 2800, 21));
  EXPECT_TRUE(fits("fp16", 2800, 16));
  EXPECT_FALSE(fits("fp16", 2800, 17));
}

}  // namespace
}  // namespace uvmsim
