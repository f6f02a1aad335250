#include "trace/digest.h"

#include <vector>

#include "trace/bytes.h"

namespace uvmsim::trace {
namespace {

constexpr std::size_t kReadSize = std::size_t{64} << 10;

}  // namespace

std::string Digest::hex() const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[state_ >> shift & 15];
  return text;
}

Digest digest_of(std::istream& in) {
  Digest digest;
  std::vector<char> buffer(kReadSize);
  do {
    in.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    digest.add({buffer.data(), static_cast<std::size_t>(in.gcount())});
  } while (in);
  return digest;
}

Digest digest_of_content(std::istream& in) {
  Digest digest;
  const std::unique_ptr<ByteSource> source = open_source(in);
  std::vector<char> buffer(kReadSize);
  while (const std::size_t count = source->read(buffer.data(), buffer.size())) digest.add({buffer.data(), count});
  return digest;
}

}  // namespace uvmsim::trace
