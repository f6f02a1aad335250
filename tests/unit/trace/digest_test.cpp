#include "trace/digest.h"

#include <gtest/gtest.h>
#include <sstream>

#include "support/trace_text.h"

namespace uvmsim::trace {
namespace {

Digest of(std::string_view bytes) {
  Digest digest;
  digest.add(bytes);
  return digest;
}

// The test vectors of draft-eastlake-fnv, appendix C.
TEST(Digest, IsFnv1aWith64Bits) {
  EXPECT_EQ(of("").value(), 0xcbf29ce484222325u);
  EXPECT_EQ(of("a").value(), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(of("foobar").value(), 0x85944171f73967e8u);
  EXPECT_EQ(of("foobar").hex(), "85944171f73967e8");
}

TEST(Digest, DoesNotDependOnThePieces) {
  Digest digest;
  for (const char c : std::string("foobar")) digest.add({&c, 1});
  EXPECT_EQ(digest.value(), of("foobar").value());
  const std::string large(200'000, 'x');
  std::istringstream in(large);
  EXPECT_EQ(digest_of(in).value(), of(large).value());
}

TEST(Digest, OfTheContentIsTheSameForPlainAndCompressedFiles) {
  const std::string plain = text_of(trace_of(kTestHeader));
  std::istringstream plain_in(plain), packed_in(text_of(trace_of(kTestHeader), {3}));
  EXPECT_EQ(digest_of_content(plain_in).value(), of(plain).value());
  EXPECT_EQ(digest_of_content(packed_in).value(), of(plain).value());
}

}  // namespace
}  // namespace uvmsim::trace
