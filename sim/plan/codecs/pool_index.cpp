#include "plan/codec.h"

namespace uvmsim {
namespace {

// The index of a maximum inside its window, of at most 16 elements, in 4 bits. Frameworks keep it in 8 bytes (PyTorch's
// max_pool2d), as an index into the whole map: a sixteenth is left.
class PoolIndex final : public KernelCodec {
 public:
  bool allows(const CodecTensor& tensor) const override { return may_be_activation(tensor); }
  bool for_any_reader() const override { return false; }
  Bytes encoded_bytes(const CodecTensor& tensor) const override { return Bytes{(tensor.bytes.value + 15) / 16}; }
};

const bool kRegistered = add_plug_in<Codec, PoolIndex>(
    {.name = "pool_index",
     .summary = "64-bit indexes of maxima in 4 bits, by kernels: what a max pooling keeps for its backward pass",
     .source =
         "Jain et al., ISCA 2018: Gist, the pooling's map from output to input; kernels at the rate of the memory "
         "(their roofline)",
     .on_hardware = "a pooling that writes the index in its window"});

}  // namespace
}  // namespace uvmsim
