#include "plan/codec.h"

namespace uvmsim {
namespace {

// Of each 32 elements a mask of 32 bits, which says which are zero, and those that are not.
Bytes masked_bytes(const CodecTensor& tensor) {
  constexpr std::int64_t kGroup = 32, kMaskBytes = 4;
  return Bytes{(elements_of(tensor) + kGroup - 1) / kGroup * kMaskBytes + nonzeros_of(tensor) * tensor.element_bytes};
}

// With elements of 4 bytes a tensor of density d takes 1/32 + d of its bytes.
class ZeroValueCompression final : public CopyEngineCodec {
 public:
  Bytes encoded_bytes(const CodecTensor& tensor) const override { return masked_bytes(tensor); }
};

// The same by one host thread, in host memory: what travels is the tensor as it is.
class ZeroValueCompressionByCpu final : public Codec {
 public:
  Bytes encoded_bytes(const CodecTensor& tensor) const override { return masked_bytes(tensor); }
  CodecEngine engine() const override { return CodecEngine::Cpu; }
  Duration encode_time(const CodecTensor& tensor, BytesPerSecond) const override {
    return transfer_time(tensor.bytes, kHostThreadRate);
  }
  Duration decode_time(const CodecTensor& tensor, BytesPerSecond) const override {
    return transfer_time(tensor.bytes, kHostThreadRate);
  }
};

const bool kByCpu = add_plug_in<Codec, ZeroValueCompressionByCpu>(
    {.name = "zvc_cpu",
     .summary = "zeros as bits of a mask, by a host thread once a copy has arrived",
     .source = "Shriram et al., IPDPS 2019: vDNN++ compresses in host memory; the code is zvc's, 8 GB/s is assumed",
     .on_hardware = "a host thread per GPU"});
const bool kRegistered = add_plug_in<Codec, ZeroValueCompression>(
    {.name = "zvc",
     .summary = "zeros as bits of a mask, by the copy engine at the rate of the link",
     .source = "Rhu et al., HPCA 2018: Compressing DMA Engine (cDMA), zero-value compression",
     .on_hardware = "not possible: copy engines do not compress"});

}  // namespace
}  // namespace uvmsim
