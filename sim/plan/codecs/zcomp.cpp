#include "plan/codec.h"

namespace uvmsim {
namespace {

// Vectors of 64 bytes, each a header with one bit per element and the elements that are not zero, by vector
// instructions that store compressed and load expanded: as many bytes as zvc, in host memory. One host thread, which
// its memory traffic bounds: the tensor on one side, the encoded one on the other.
class Zcomp final : public Codec {
 public:
  Bytes encoded_bytes(const CodecTensor& tensor) const override {
    constexpr std::int64_t kVector = 64;
    const std::int64_t per_vector = kVector / tensor.element_bytes;
    const std::int64_t vectors = (elements_of(tensor) + per_vector - 1) / per_vector;
    return Bytes{vectors * ((per_vector + 7) / 8) + nonzeros_of(tensor) * tensor.element_bytes};
  }
  CodecEngine engine() const override { return CodecEngine::Cpu; }
  Duration encode_time(const CodecTensor& tensor, BytesPerSecond) const override {
    return transfer_time((tensor.bytes + encoded_bytes(tensor)) / 2, kHostThreadRate);  // that of a copy counts once
  }
  Duration decode_time(const CodecTensor& tensor, BytesPerSecond link) const override {
    return encode_time(tensor, link);
  }
};

const bool kRegistered = add_plug_in<Codec, Zcomp>(
    {.name = "zcomp",
     .summary = "zeros as bits of a header, by vector instructions of a host thread",
     .source = "Akin et al., MICRO 2019: ZCOMP; a thread that copies 8 GB/s is assumed",
     .on_hardware = "not possible: no CPU has these instructions (AVX-512's compress and expand come near)"});

}  // namespace
}  // namespace uvmsim
