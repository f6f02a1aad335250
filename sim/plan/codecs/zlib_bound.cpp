#include <cmath>

#include "plan/codec.h"

namespace uvmsim {
namespace {

// What no code that keeps the values can do better: those that are not zero as they are, and where the zeros are by the
// entropy of it, H(s) = -s log2(s) - (1 - s) log2(1 - s) bits per element. Where zeros are independent of each other
// and values say nothing of each other (assumed), that is the bound of zlib, too.
class ZlibBound final : public CopyEngineCodec {
 public:
  Bytes encoded_bytes(const CodecTensor& tensor) const override {
    const double bits = static_cast<double>(elements_of(tensor)) * entropy(tensor.sparsity);
    return Bytes{nonzeros_of(tensor) * tensor.element_bytes + static_cast<std::int64_t>(std::ceil(bits / 8))};
  }

 private:
  static double entropy(double s) {
    if (s <= 0 || s >= 1) return 0;
    return -s * std::log2(s) - (1 - s) * std::log2(1 - s);
  }
};

const bool kRegistered = add_plug_in<Codec, ZlibBound>(
    {.name = "zlib_bound",
     .summary = "the least that a lossless code leaves, by the copy engine at the rate of the link: an upper bound",
     .source = "Rhu et al., HPCA 2018: cDMA compares with zlib as the bound; Shannon 1948, theorem 9",
     .on_hardware = "not possible: copy engines do not compress"});

}  // namespace
}  // namespace uvmsim
