#include <cmath>

#include "plan/codec.h"

namespace uvmsim {
namespace {

// Of each 32 elements a mask of 32 bits, which says which are zero, and those that are not. With elements of 4 bytes a
// tensor of density d takes 1/32 + d of its bytes. The engine keeps up with the link.
class ZeroValueCompression : public Codec {
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

// The same by one host thread, in host memory: what travels is the tensor as it is.
class ZeroValueCompressionByCpu final : public ZeroValueCompression {
 public:
  CodecEngine engine() const override { return CodecEngine::Cpu; }
  Duration encode_time(const CodecTensor& tensor, BytesPerSecond) const override {
    return transfer_time(tensor.bytes, kRate);
  }
  Duration decode_time(const CodecTensor& tensor, BytesPerSecond) const override {
    return transfer_time(tensor.bytes, kRate);
  }

 private:
  // Assumed: one thread that streams through memory, as touch_bandwidth of the machine files.
  static constexpr BytesPerSecond kRate{8'000'000'000};
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
