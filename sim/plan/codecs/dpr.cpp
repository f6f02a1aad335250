#include <utility>

#include "plan/codec.h"

namespace uvmsim {
namespace {

// Delayed precision reduction: the forward pass computes with elements as they are; what waits for the backward pass is
// kept in fewer bits. Of 10 bits, three elements share a word of 32.
class Dpr final : public KernelCodec {
 public:
  explicit Dpr(std::int64_t per_word) : per_word_(per_word) {}
  bool allows(const CodecTensor& tensor) const override { return may_be_activation(tensor); }
  Bytes encoded_bytes(const CodecTensor& tensor) const override {
    constexpr std::int64_t kWord = 4;
    return Bytes{(elements_of(tensor) + per_word_ - 1) / per_word_ * kWord};
  }

 private:
  std::int64_t per_word_;  // elements in a word of 32 bits
};

bool add(const char* name, const char* bits, std::int64_t per_word) {
  return add_plug_in<Codec, Dpr>(
      {.name = name,
       .summary = std::string("elements in ") + bits + ", by kernels: delayed precision reduction",
       .source = "Jain et al., ISCA 2018: Gist, DPR; kernels at the rate of the memory (their roofline)",
       .on_hardware = "kernels that convert, next to the framework's"},
      per_word);
}

const bool kFp16 = add("dpr_fp16", "16 bits", 2);
const bool kFp10 = add("dpr_fp10", "10 bits, three in a word", 3);
const bool kFp8 = add("dpr_fp8", "8 bits", 4);

}  // namespace
}  // namespace uvmsim
