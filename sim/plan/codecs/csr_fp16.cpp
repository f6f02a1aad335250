#include "plan/codec.h"

namespace uvmsim {
namespace {

// Compressed sparse rows of 256 elements: of each element that is not zero its value in half precision and its column
// in one byte, of each row where it begins. With elements of 4 bytes a tensor of density d takes 0.75 d + 1/256 of its
// bytes. FlashNeuron encodes by kernels next to the program's; here the copy engine does, and keeps up with the link.
class CsrFp16 final : public CopyEngineCodec {
 public:
  bool allows(const CodecTensor& tensor) const override { return may_be_activation(tensor); }
  Bytes encoded_bytes(const CodecTensor& tensor) const override {
    constexpr std::int64_t kRow = 256, kRowBegin = 4, kValueAndColumn = 2 + 1;
    return Bytes{(elements_of(tensor) + kRow - 1) / kRow * kRowBegin + nonzeros_of(tensor) * kValueAndColumn};
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
