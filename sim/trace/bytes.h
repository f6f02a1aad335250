// The bytes of a trace, plain or zstd, in and out, and the lines in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <memory>
#include <ostream>
#include <string_view>
#include <vector>

namespace uvmsim::trace {

// Uncompressed bytes, one after the other.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Up to `size` bytes to `into`; 0 at the end. Throws ParseError when the input is broken or ends inside a frame.
  virtual std::size_t read(char* into, std::size_t size) = 0;
};

// Refuses compressed data of a size that no recording has: more than kFree bytes, and more than kMostGrowth times what
// they were packed into. Both are far above what traces need (a thousand equal iterations grow about 100-fold).
class GrowthLimit {
 public:
  static constexpr std::uint64_t kFree = std::uint64_t{256} << 20, kMostGrowth = 1000;
  // This many more bytes were read, and became that many. Throws ParseError.
  void add(std::size_t packed, std::size_t unpacked);

 private:
  std::uint64_t packed_ = 0, unpacked_ = 0;
};

// `in` as it is or through zstd, told apart by its first bytes, not by a name. Keeps a reference to `in`.
std::unique_ptr<ByteSource> open_source(std::istream& in);

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual void write(std::string_view bytes) = 0;
  // Call once, after the last write.
  virtual void finish() = 0;
};

// To `out`, as they come. Failure shows in the state of `out`.
std::unique_ptr<ByteSink> plain_sink(std::ostream& out);
// To `out` as one zstd frame with a checksum. `level` 1..19; same bytes, level and libzstd, same frame.
std::unique_ptr<ByteSink> zstd_sink(std::ostream& out, int level);

// The lines of a source. Memory: the longest line, at most kLongestLine, and one read.
class LineReader {
 public:
  explicit LineReader(ByteSource& source) : source_(source), buffer_(kReadSize) {}

  // Puts the next line, without its newline, into `line` and returns true; false at the end. The last line may
  // lack its newline. The view holds until the next call. Throws ParseError for a line that is too long, which
  // is passed over, and for a broken source, after which there are no more lines.
  bool next(std::string_view& line);

  // The number of the line that `next` gave or threw for; the first is 1.
  std::int64_t line_number() const { return number_; }
  bool ended() const { return ended_; }

 private:
  static constexpr std::size_t kReadSize = std::size_t{1} << 20;

  bool fill();
  void skip_line();

  ByteSource& source_;
  std::vector<char> buffer_;
  std::size_t first_ = 0, last_ = 0;  // unread bytes
  std::int64_t number_ = 0;
  bool ended_ = false;
};

}  // namespace uvmsim::trace
