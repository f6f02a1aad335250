#include "plan/codec.h"

#include <cmath>

namespace uvmsim {

std::int64_t encoded_bytes(const std::string& codec, const CodecTensor& tensor) {
  if (codec.empty()) return tensor.bytes.value;
  return codecs().find(codec)->make()->encoded_bytes(tensor).value;
}

std::int64_t elements_of(const CodecTensor& tensor) {
  return (tensor.bytes.value + tensor.element_bytes - 1) / tensor.element_bytes;
}

std::int64_t nonzeros_of(const CodecTensor& tensor) {
  return std::llround(static_cast<double>(elements_of(tensor)) * (1 - tensor.sparsity));
}

bool may_be_activation(const CodecTensor& tensor) { return tensor.kind.empty() || tensor.kind == "act"; }

}  // namespace uvmsim
