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
  double ratio = 0;                // by which codecs that have one make it smaller; 0: as the codec says
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
  // Whether any kernel may read what comes back, as far as its precision goes. Else it is for those pairs of layers that
  // ask for no more, which a planner has to know.
  virtual bool for_any_reader() const { return true; }
  // The size of the encoded tensor. May be larger than the tensor.
  virtual Bytes encoded_bytes(const CodecTensor& tensor) const = 0;

  virtual CodecEngine engine() const = 0;
  // How long the engine works on the tensor, where the link that the encoded tensor takes has the rate `link`. An
  // engine that works while the copy runs delays it only as far as this is longer.
  virtual Duration encode_time(const CodecTensor& tensor, BytesPerSecond link) const = 0;
  virtual Duration decode_time(const CodecTensor& tensor, BytesPerSecond link) const = 0;
};

inline Registry<Codec>& codecs() { return registry<Codec>(); }

// What the tensor takes under the codec named so; "": as it is.
std::int64_t encoded_bytes(const std::string& codec, const CodecTensor& tensor);

// --- what codecs share

std::int64_t elements_of(const CodecTensor& tensor);
std::int64_t nonzeros_of(const CodecTensor& tensor);

// Whether it is an activation, as far as the trace says: what loses bits is not for weights and optimizer state.
bool may_be_activation(const CodecTensor& tensor);

// The copy engine encodes what it copies, and keeps up with the link.
class CopyEngineCodec : public Codec {
 public:
  CodecEngine engine() const final { return CodecEngine::Dma; }
  Duration encode_time(const CodecTensor& tensor, BytesPerSecond link) const final {
    return transfer_time(encoded_bytes(tensor), link);
  }
  Duration decode_time(const CodecTensor& tensor, BytesPerSecond link) const final {
    return transfer_time(encoded_bytes(tensor), link);
  }
};

// A kernel reads the tensor once and writes it encoded, or the other way round, at the rate of the GPU's memory, which
// is the `link` that it is asked about: the roofline of kernels that stream.
class KernelCodec : public Codec {
 public:
  CodecEngine engine() const final { return CodecEngine::Sm; }
  Duration encode_time(const CodecTensor& tensor, BytesPerSecond memory) const final {
    return transfer_time(tensor.bytes + encoded_bytes(tensor), memory);
  }
  Duration decode_time(const CodecTensor& tensor, BytesPerSecond memory) const final {
    return encode_time(tensor, memory);
  }
};

// One host thread streams through memory so fast. Assumed, as touch_bandwidth of the machine files.
inline constexpr BytesPerSecond kHostThreadRate{8'000'000'000};

}  // namespace uvmsim
