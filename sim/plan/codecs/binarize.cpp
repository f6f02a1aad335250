#include "plan/codec.h"

namespace uvmsim {
namespace {

// One bit per element: whether it is positive. All that the backward pass of a ReLU asks of its output, where what read
// that output in the forward pass, a pooling, needs it no more because it keeps the indexes of its maxima.
class Binarize final : public KernelCodec {
 public:
  bool allows(const CodecTensor& tensor) const override { return may_be_activation(tensor); }
  bool for_any_reader() const override { return false; }
  Bytes encoded_bytes(const CodecTensor& tensor) const override { return Bytes{(elements_of(tensor) + 7) / 8}; }
};

const bool kRegistered = add_plug_in<Codec, Binarize>(
    {.name = "binarize",
     .summary = "signs only, by kernels: outputs of ReLU that a pooling reads",
     .source = "Jain et al., ISCA 2018: Gist, Binarize; kernels at the rate of the memory (their roofline)",
     .on_hardware = "kernels in the framework's ReLU and pooling layers"});

}  // namespace
}  // namespace uvmsim
