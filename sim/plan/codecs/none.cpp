#include "plan/codec.h"

namespace uvmsim {
namespace {

class NoCodec final : public Codec {
 public:
  Bytes encoded_bytes(const CodecTensor& tensor) const override { return tensor.bytes; }
  CodecEngine engine() const override { return CodecEngine::Dma; }
  Duration encode_time(const CodecTensor&, BytesPerSecond) const override { return Duration{0}; }
  Duration decode_time(const CodecTensor&, BytesPerSecond) const override { return Duration{0}; }
};

const bool kRegistered = add_plug_in<Codec, NoCodec>({.name = "none",
                                                      .summary = "tensors as they are, in no time",
                                                      .source = "what copies do",
                                                      .on_hardware = "nothing: what CUDA does"});

}  // namespace
}  // namespace uvmsim
