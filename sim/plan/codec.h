// Codecs answer "how many bytes is a tensor while nobody uses it, and what does it take to make them?". One file each
// in plan/codecs/.
#pragma once

#include <cstdint>
#include <string>

#include "base/registry.h"
#include "base/units.h"

namespace uvmsim {

// A tensor as codecs see it.
struct CodecTensor {
  std::string kind = {};           // act, grad, param, ..., or what the trace calls it
  Bytes bytes{};                   // as it is used
  std::int64_t element_bytes = 4;  // of one element, at least 1
  double sparsity = 0;             // share of its elements that are zero, 0..1
};

// Who encodes and decodes.
enum class CodecEngine : std::uint8_t {
  Dma,  // the copy engine, while it copies
  Sm,   // kernels on the GPU, which compete with the program's
  Cpu,  // host threads, which all GPUs share
};

// The answers depend on the parameters and the arguments, on nothing else.
class Codec : public PlugIn {
 public:
  static constexpr KindText kKind{
      .name = "codec", .noun = "codec", .use = "tensors that a plan moves or keeps encoded"};

  // Whether it may be used on the tensor: lossy ones are not for weights, for example.
  virtual bool allows(const CodecTensor&) const { return true; }
  // The size of the encoded tensor. May be larger than the tensor.
  virtual Bytes encoded_bytes(const CodecTensor& tensor) const = 0;

  virtual CodecEngine engine() const = 0;
  // How long the engine works on the tensor, where the link that the encoded tensor takes has the rate `link`. An
  // engine that works while the copy runs delays it only as far as this is longer.
  virtual Duration encode_time(const CodecTensor& tensor, BytesPerSecond link) const = 0;
  virtual Duration decode_time(const CodecTensor& tensor, BytesPerSecond link) const = 0;
};

inline Registry<Codec>& codecs() { return registry<Codec>(); }

// What a tensor of `bytes` takes under the codec named so; "": as it is.
std::int64_t encoded_bytes(const std::string& codec, std::int64_t bytes, double sparsity);

}  // namespace uvmsim
