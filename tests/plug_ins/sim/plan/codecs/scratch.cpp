#include "plan/codec.h"

namespace uvmsim {
namespace {

class Scratch final : public Codec {
 public:
  Bytes encoded_bytes(const CodecTensor& tensor) const override { return Bytes{tensor.bytes.value / 2}; }
  CodecEngine engine() const override { return CodecEngine::Cpu; }
  Duration encode_time(const CodecTensor&, BytesPerSecond) const override { return microseconds(1); }
  Duration decode_time(const CodecTensor&, BytesPerSecond) const override { return microseconds(1); }
};

const bool kRegistered = add_plug_in<Codec, Scratch>({.name = "scratch", .summary = "an example", .source = "a test"});

}  // namespace
}  // namespace uvmsim
