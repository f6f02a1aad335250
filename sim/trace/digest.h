// A content hash for manifests: which bytes a result was made from. No protection against forgery.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <string_view>

namespace uvmsim::trace {

// FNV-1a, 64 bits (draft-eastlake-fnv). Feed the bytes in order, in pieces of any size.
class Digest {
 public:
  void add(std::string_view bytes) {
    for (const char c : bytes) {
      state_ ^= static_cast<unsigned char>(c);
      state_ *= 0x100000001b3ULL;
    }
  }
  std::uint64_t value() const { return state_; }
  // 16 lower-case hexadecimal digits.
  std::string hex() const;

 private:
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

// The digest of `in`'s bytes as they are. A compressed file and its content differ: hash what the manifest names.
Digest digest_of(std::istream& in);

// The digest of a trace's content: plain and compressed files of the same lines have the same one.
// Throws ParseError when the compressed data is broken.
Digest digest_of_content(std::istream& in);

}  // namespace uvmsim::trace
