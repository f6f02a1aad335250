#include "plan/codec.h"

namespace uvmsim {
namespace {

// Compressed sparse rows of 256 elements, so that a column takes one byte: of each element that is not zero its value
// and its column, of each row where it begins. With elements of 4 bytes a tensor of density d takes 1.25 d + 1/256 of
// its bytes, less than all of them from a sparsity of 20 % on.
class Ssdc final : public KernelCodec {
 public:
  Bytes encoded_bytes(const CodecTensor& tensor) const override {
    constexpr std::int64_t kRow = 256, kRowBegin = 4, kColumn = 1;
    return Bytes{(elements_of(tensor) + kRow - 1) / kRow * kRowBegin +
                 nonzeros_of(tensor) * (tensor.element_bytes + kColumn)};
  }
};

const bool kRegistered = add_plug_in<Codec, Ssdc>(
    {.name = "ssdc",
     .summary = "nonzero elements with a byte of index, by kernels: sparse storage, dense compute",
     .source = "Jain et al., ISCA 2018: Gist, SSDC (narrow CSR); kernels at the rate of the memory (their roofline)",
     .on_hardware = "kernels that encode and decode, next to the framework's (cuSPARSE, or one's own)"});

}  // namespace
}  // namespace uvmsim
