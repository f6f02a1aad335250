#include <cmath>

#include "plan/codec.h"

namespace uvmsim {
namespace {

// Of a code of which no more is known than by how much it makes a tensor smaller, on average, and how fast one host
// thread does it. An action may give another ratio.
struct RatioText {
  double ratio = 1;
  BytesPerSecond encode{}, decode{};  // bytes of the tensor
  bool weights_only = false;
};

class RatioCodec final : public Codec {
 public:
  explicit RatioCodec(RatioText text) : text_(text) {}
  bool allows(const CodecTensor& tensor) const override {
    return !text_.weights_only || tensor.kind.empty() || tensor.kind == "param";
  }
  Bytes encoded_bytes(const CodecTensor& tensor) const override {
    const double ratio = tensor.ratio > 0 ? tensor.ratio : text_.ratio;
    return Bytes{static_cast<std::int64_t>(std::ceil(static_cast<double>(tensor.bytes.value) / ratio))};
  }
  CodecEngine engine() const override { return CodecEngine::Cpu; }
  Duration encode_time(const CodecTensor& tensor, BytesPerSecond) const override {
    return transfer_time(tensor.bytes, text_.encode);
  }
  Duration decode_time(const CodecTensor& tensor, BytesPerSecond) const override {
    return transfer_time(tensor.bytes, text_.decode);
  }

 private:
  RatioText text_;
};

const bool kRatio =
    add_plug_in<Codec, RatioCodec>({.name = "ratio",
                                    .summary = "a given number of times smaller, by a host thread: a what-if",
                                    .source = "none: 2 times, and 8 GB/s, are assumed",
                                    .on_hardware = "a host thread per GPU, and a code that compresses as well"},
                                   RatioText{.ratio = 2, .encode = kHostThreadRate, .decode = kHostThreadRate});

// The rates of SZ by one core, from memory of Tao et al., IPDPS 2017: of the order of 100 and 200 MB/s.
const bool kDeepSz = add_plug_in<Codec, RatioCodec>(
    {.name = "deepsz",
     .summary = "pruned weights with bounded errors, by a host thread; each network has its own ratio",
     .source = "Jin et al., HPDC 2019: DeepSZ, abstract: 46 times (AlexNet; VGG-16: 116); SZ's rates from memory",
     .on_hardware = "szcompressor/DeepSZ"},
    RatioText{.ratio = 46,
              .encode = BytesPerSecond{100'000'000},
              .decode = BytesPerSecond{200'000'000},
              .weights_only = true});

// Zstandard's README: 510 MB/s and 1550 MB/s at level 1 by one core of a Core i7-9700K.
const bool kDeltaDnn = add_plug_in<Codec, RatioCodec>(
    {.name = "delta_dnn",
     .summary = "weights as quantized differences from those of the previous epoch, by a host thread",
     .source = "Hu et al., ICPP 2020: Delta-DNN, abstract: 2 to 10 times more than others; 2, and Zstandard's rates, "
               "are assumed",
     .on_hardware = "a host thread per GPU, and the weights of the epoch before"},
    RatioText{.ratio = 2,
              .encode = BytesPerSecond{510'000'000},
              .decode = BytesPerSecond{1'550'000'000},
              .weights_only = true});

const bool kVectorQuantization = add_plug_in<Codec, RatioCodec>(
    {.name = "vector_quantization",
     .summary = "weights as codes of a codebook, looked up by a host thread",
     .source = "Gong et al., 2014 (arXiv 1412.6115), abstract: 16 to 24 times; 16, and 8 GB/s to look up, are assumed",
     .on_hardware = "a host thread per GPU; encoded once, by k-means"},
    RatioText{.ratio = 16, .encode = kHostThreadRate, .decode = kHostThreadRate, .weights_only = true});

}  // namespace
}  // namespace uvmsim
