#include "plan/codec.h"

namespace uvmsim {

std::int64_t encoded_bytes(const std::string& codec, std::int64_t bytes, double sparsity) {
  if (codec.empty()) return bytes;
  return codecs().find(codec)->make()->encoded_bytes({.bytes = Bytes{bytes}, .sparsity = sparsity}).value;
}

}  // namespace uvmsim
