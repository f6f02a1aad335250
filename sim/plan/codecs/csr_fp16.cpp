#include <cmath>

#include "plan/codec.h"

namespace uvmsim {
namespace {

// Compressed sparse rows of 256 elements: of each element that is not zero its value in half precision and its column
// in one byte, of each row where it begins. With elements of 4 bytes a tensor of density d takes 0.75 d + 1/256 of its
// bytes. FlashNeuron encodes by kernels beside the program's; here the copy engine does, and keeps up with the link.
class CsrFp16 final : public Codec {
 public:
  // Half precision loses bits that weights and optimizer state need.
  bool allows(const CodecTensor& tensor) const override { return tensor.kind.empty() || tensor.kind == "act"; }
  Bytes encoded_bytes(const CodecTensor& tensor) const override {
    constexpr std::int64_t kRow = 256, kRowBegin = 4, kValueAndColumn = 2 + 1;
    const std::int64_t elements = (tensor.bytes.value + tensor.element_bytes - 1) / tensor.element_bytes;
    const std::int64_t nonzero = std::llround(static_cast<double>(elements) * (1 - tensor.sparsity));
    return Bytes{(elements + kRow - 1) / kRow * kRowBegin + nonzero * kValueAndColumn};
  }
  CodecEngine engine() const override { return CodecEngine::Dma; }
  Duration encode_time(const CodecTensor& tensor, BytesPerSecond link) const override {
    return transfer_time(encoded_bytes(tensor), link);
  }
  Duration decode_time(const CodecTensor& tensor, BytesPerSecond link) const override {
    return transfer_time(encoded_bytes(tensor), link);
  }
};

const bool kRegistered = add_plug_in<Codec, CsrFp16>(
    {.name = "csr_fp16",
     .summary = "nonzero elements in half precision with a byte of index, at the rate of the link",
     .source =
         "Bae et al., FAST 2021: FlashNeuron, section 4 (CSR and half precision); one byte of index by rows of 256 "
         "elements as in Gist, ISCA 2018",
     .on_hardware = "kernels that encode into a buffer before each copy (cuSPARSE, or one's own)"});

}  // namespace
}  // namespace uvmsim
