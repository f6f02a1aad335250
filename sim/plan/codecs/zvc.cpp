#include <cmath>

#include "plan/codec.h"

namespace uvmsim {
namespace {

// Of each 32 elements a mask of 32 bits, which says which are zero, and those that are not. With elements of 4 bytes a
// tensor of density d takes 1/32 + d of its bytes. The engine keeps up with the link.
class ZeroValueCompression final : public Codec {
 public:
  Bytes encoded_bytes(const CodecTensor& tensor) const override {
    constexpr std::int64_t kGroup = 32, kMaskBytes = 4;
    const std::int64_t elements = (tensor.bytes.value + tensor.element_bytes - 1) / tensor.element_bytes;
    const std::int64_t nonzero = std::llround(static_cast<double>(elements) * (1 - tensor.sparsity));
    return Bytes{(elements + kGroup - 1) / kGroup * kMaskBytes + nonzero * tensor.element_bytes};
  }
  CodecEngine engine() const override { return CodecEngine::Dma; }
  Duration encode_time(const CodecTensor& tensor, BytesPerSecond link) const override {
    return transfer_time(encoded_bytes(tensor), link);
  }
  Duration decode_time(const CodecTensor& tensor, BytesPerSecond link) const override {
    return transfer_time(encoded_bytes(tensor), link);
  }
};

const bool kRegistered = add_plug_in<Codec, ZeroValueCompression>(
    {.name = "zvc",
     .summary = "zeros as bits of a mask, by the copy engine at the rate of the link",
     .source = "Rhu et al., HPCA 2018: Compressing DMA Engine (cDMA), zero-value compression",
     .on_hardware = "not possible: copy engines do not compress"});

}  // namespace
}  // namespace uvmsim
