#include "trace/bytes.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <zstd.h>

#include "base/check.h"
#include "trace/error_list.h"
#include "trace/format.h"

namespace uvmsim::trace {
namespace {

// The first bytes of `in` that told its format, then the rest of it.
class PlainSource final : public ByteSource {
 public:
  PlainSource(std::istream& in, std::string first) : in_(in), first_(std::move(first)) {}

  std::size_t read(char* into, std::size_t size) override {
    if (!first_.empty()) {
      const std::size_t count = std::min(size, first_.size());
      std::memcpy(into, first_.data(), count);
      first_.erase(0, count);
      return count;
    }
    in_.read(into, static_cast<std::streamsize>(size));
    if (in_.bad()) throw ParseError{"the file cannot be read"};
    return static_cast<std::size_t>(in_.gcount());
  }

 private:
  std::istream& in_;
  std::string first_;
};

class ZstdSource final : public ByteSource {
 public:
  explicit ZstdSource(std::unique_ptr<ByteSource> packed)
      : packed_(std::move(packed)), stream_(ZSTD_createDStream()), buffer_(ZSTD_DStreamInSize()) {
    UVMSIM_CHECK(stream_ != nullptr, "out of memory for zstd");
  }
  ~ZstdSource() override { ZSTD_freeDStream(stream_); }
  ZstdSource(const ZstdSource&) = delete;
  ZstdSource& operator=(const ZstdSource&) = delete;

  std::size_t read(char* into, std::size_t size) override {
    ZSTD_outBuffer out{into, size, 0};
    while (out.pos == 0) {
      bool exhausted = false;
      if (in_.pos == in_.size) {
        in_ = {buffer_.data(), packed_->read(buffer_.data(), buffer_.size()), 0};
        exhausted = in_.size == 0;
        if (exhausted && !inside_frame_) break;
      }
      const std::size_t packed = in_.pos, unpacked = out.pos;
      // Without input this still hands out what zstd holds back because an earlier `into` was full.
      const std::size_t rest = ZSTD_decompressStream(stream_, &out, &in_);
      if (ZSTD_isError(rest) != 0) throw ParseError{std::string("the zstd data is broken: ") + ZSTD_getErrorName(rest)};
      inside_frame_ = rest != 0;
      growth_.add(in_.pos - packed, out.pos - unpacked);
      if (exhausted && out.pos == 0 && inside_frame_)
        throw ParseError{"the zstd data ends inside a frame: the file was cut short"};
    }
    return out.pos;
  }

 private:
  std::unique_ptr<ByteSource> packed_;
  ZSTD_DStream* stream_;
  std::vector<char> buffer_;
  ZSTD_inBuffer in_{nullptr, 0, 0};
  bool inside_frame_ = false;
  GrowthLimit growth_;
};

class PlainSink final : public ByteSink {
 public:
  explicit PlainSink(std::ostream& out) : out_(out) {}
  void write(std::string_view bytes) override { out_.write(bytes.data(), static_cast<std::streamsize>(bytes.size())); }
  void finish() override { out_.flush(); }

 private:
  std::ostream& out_;
};

class ZstdSink final : public ByteSink {
 public:
  ZstdSink(std::ostream& out, int level) : out_(out), context_(ZSTD_createCCtx()), buffer_(ZSTD_CStreamOutSize()) {
    UVMSIM_CHECK(context_ != nullptr, "out of memory for zstd");
    set(ZSTD_c_compressionLevel, level);
    set(ZSTD_c_checksumFlag, 1);
  }
  ~ZstdSink() override { ZSTD_freeCCtx(context_); }
  ZstdSink(const ZstdSink&) = delete;
  ZstdSink& operator=(const ZstdSink&) = delete;

  void write(std::string_view bytes) override { compress(bytes, ZSTD_e_continue); }
  void finish() override {
    compress({}, ZSTD_e_end);
    out_.flush();
  }

 private:
  void set(ZSTD_cParameter parameter, int value) {
    UVMSIM_CHECK(ZSTD_isError(ZSTD_CCtx_setParameter(context_, parameter, value)) == 0, "zstd refuses a parameter");
  }
  void compress(std::string_view bytes, ZSTD_EndDirective end) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    std::size_t rest = 0;
    do {
      ZSTD_outBuffer out{buffer_.data(), buffer_.size(), 0};
      rest = ZSTD_compressStream2(context_, &out, &in, end);
      UVMSIM_CHECK(ZSTD_isError(rest) == 0, "zstd cannot compress");
      out_.write(buffer_.data(), static_cast<std::streamsize>(out.pos));
    } while (end == ZSTD_e_end ? rest != 0 : in.pos != in.size);
  }

  std::ostream& out_;
  ZSTD_CCtx* context_;
  std::vector<char> buffer_;
};

// A frame, or a skippable frame (RFC 8878, sections 3.1.1 and 3.1.2), both little-endian.
bool is_zstd(std::string_view first) {
  if (first.size() < 4) return false;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(first[i]); };
  if (byte(1) == 0xB5 && byte(2) == 0x2F && byte(3) == 0xFD) return byte(0) == 0x28;
  return (byte(0) & 0xF0) == 0x50 && byte(1) == 0x2A && byte(2) == 0x4D && byte(3) == 0x18;
}

}  // namespace

void GrowthLimit::add(std::size_t packed, std::size_t unpacked) {
  packed_ += packed;
  unpacked_ += unpacked;
  if (unpacked_ > kFree && unpacked_ / kMostGrowth > packed_)
    throw ParseError{"the compressed data grows more than " + std::to_string(kMostGrowth) + "-fold"};
}

std::unique_ptr<ByteSource> open_source(std::istream& in) {
  std::string first(4, '\0');
  in.read(first.data(), 4);
  first.resize(static_cast<std::size_t>(in.gcount()));
  const bool packed = is_zstd(first);
  auto plain = std::make_unique<PlainSource>(in, std::move(first));
  if (!packed) return plain;
  return std::make_unique<ZstdSource>(std::move(plain));
}

std::unique_ptr<ByteSink> plain_sink(std::ostream& out) { return std::make_unique<PlainSink>(out); }

std::unique_ptr<ByteSink> zstd_sink(std::ostream& out, int level) { return std::make_unique<ZstdSink>(out, level); }

bool LineReader::fill() {
  if (ended_) return false;
  if (first_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + first_, last_ - first_);
    last_ -= first_;
    first_ = 0;
  }
  if (buffer_.size() - last_ < kReadSize / 2) buffer_.resize(buffer_.size() * 2);
  try {
    const std::size_t count = source_.read(buffer_.data() + last_, buffer_.size() - last_);
    last_ += count;
    ended_ = count == 0;
  } catch (const ParseError&) {
    ended_ = true;
    first_ = last_ = 0;
    throw;
  }
  return !ended_;
}

void LineReader::skip_line() {
  for (;;) {
    const char* const start = buffer_.data() + first_;
    const void* const newline = std::memchr(start, '\n', last_ - first_);
    if (newline != nullptr) {
      first_ += static_cast<std::size_t>(static_cast<const char*>(newline) - start) + 1;
      return;
    }
    first_ = last_ = 0;
    if (!fill()) return;
  }
}

bool LineReader::next(std::string_view& line) {
  std::size_t searched = 0;  // bytes from first_ on that hold no newline
  ++number_;
  if (first_ == last_ && !fill()) {
    --number_;
    return false;
  }
  for (;;) {
    const char* const start = buffer_.data() + first_;
    const void* const newline = std::memchr(start + searched, '\n', last_ - first_ - searched);
    const std::size_t end =
        newline != nullptr ? static_cast<std::size_t>(static_cast<const char*>(newline) - start) : last_ - first_;
    if (end > kLongestLine) {
      skip_line();
      throw ParseError{"expected a line of at most " + std::to_string(kLongestLine >> 20) + " MiB"};
    }
    if (newline != nullptr || ended_) {
      line = {start, end};
      first_ += end + (newline != nullptr ? 1 : 0);
      return true;
    }
    searched = end;
    fill();
  }
}

}  // namespace uvmsim::trace
