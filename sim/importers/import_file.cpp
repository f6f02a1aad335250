#include "importers/import_file.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>
#include <zlib.h>

#include "base/check.h"
#include "base/user_error.h"
#include "trace/error_list.h"

namespace uvmsim {
namespace {

// A source together with the stream that it reads.
class OwningSource final : public trace::ByteSource {
 public:
  explicit OwningSource(std::unique_ptr<std::istream> in) : in_(std::move(in)), source_(trace::open_source(*in_)) {}
  std::size_t read(char* into, std::size_t size) override { return source_->read(into, size); }

 private:
  std::unique_ptr<std::istream> in_;
  std::unique_ptr<trace::ByteSource> source_;
};

// What gzip packed (RFC 1952), one member or several.
class GzipSource final : public trace::ByteSource {
 public:
  explicit GzipSource(std::unique_ptr<std::istream> in) : in_(std::move(in)), buffer_(kReadSize) {
    // 15: the largest window; 16: gzip, nothing else.
    UVMSIM_CHECK(inflateInit2(&stream_, 15 + 16) == Z_OK, "out of memory for zlib");
  }
  ~GzipSource() override { inflateEnd(&stream_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  std::size_t read(char* into, std::size_t size) override {
    stream_.next_out = reinterpret_cast<Bytef*>(into);
    stream_.avail_out = static_cast<uInt>(std::min(size, kReadSize));
    const uInt room = stream_.avail_out;
    while (stream_.avail_out == room) {
      if (stream_.avail_in == 0 && !fill()) {
        if (inside_member_) throw trace::ParseError{"the gzip data ends inside a member: the file was cut short"};
        return 0;
      }
      if (!inside_member_) inflateReset(&stream_);
      const uInt packed = stream_.avail_in, unpacked = stream_.avail_out;
      const int status = inflate(&stream_, Z_NO_FLUSH);
      if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
        throw trace::ParseError{std::string("the gzip data is broken: ") +
                                (stream_.msg == nullptr ? "not gzip" : stream_.msg)};
      inside_member_ = status != Z_STREAM_END;
      growth_.add(packed - stream_.avail_in, unpacked - stream_.avail_out);
    }
    return room - stream_.avail_out;
  }

 private:
  static constexpr std::size_t kReadSize = std::size_t{1} << 18;

  bool fill() {
    in_->read(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
    stream_.avail_in = static_cast<uInt>(in_->gcount());
    return stream_.avail_in > 0;
  }

  std::unique_ptr<std::istream> in_;
  std::vector<char> buffer_;
  z_stream stream_{};
  bool inside_member_ = false;
  trace::GrowthLimit growth_;
};

// A source without the byte order mark that some editors and exporters put before UTF-8 text.
class MarklessSource final : public trace::ByteSource {
 public:
  explicit MarklessSource(std::unique_ptr<trace::ByteSource> source) : source_(std::move(source)) {
    while (first_.size() < kMark.size()) {
      char one = 0;
      if (source_->read(&one, 1) == 0) break;
      first_ += one;
    }
    if (first_ == kMark) first_.clear();
  }

  std::size_t read(char* into, std::size_t size) override {
    if (first_.empty()) return source_->read(into, size);
    const std::size_t count = std::min(size, first_.size());
    std::copy_n(first_.begin(), count, into);
    first_.erase(0, count);
    return count;
  }

 private:
  static constexpr std::string_view kMark = "\xef\xbb\xbf";
  std::unique_ptr<trace::ByteSource> source_;
  std::string first_;  // bytes read ahead
};

bool is_gzip(std::istream& in) {
  char first[2] = {};
  in.read(first, 2);
  const bool gzip = in.gcount() == 2 && first[0] == '\x1f' && first[1] == '\x8b';
  in.clear();
  in.seekg(0);
  return gzip;
}

}  // namespace

std::unique_ptr<trace::ByteSource> ImportFile::open() const {
  std::unique_ptr<std::istream> in;
  if (in_memory_) {
    in = std::make_unique<std::istringstream>(bytes_);
  } else {
    errno = 0;
    in = std::make_unique<std::ifstream>(name_, std::ios::binary);
    if (!*in || in->peek() == std::ifstream::traits_type::eof()) {
      if (errno == 0) throw UserError(name_, "is empty");
      throw UserError(name_, "cannot be opened: " + std::generic_category().message(errno));
    }
  }
  std::unique_ptr<trace::ByteSource> source;
  if (is_gzip(*in))
    source = std::make_unique<GzipSource>(std::move(in));
  else
    source = std::make_unique<OwningSource>(std::move(in));
  return std::make_unique<MarklessSource>(std::move(source));
}

std::string ImportFile::head() const {
  std::string head(kHead, '\0');
  std::size_t size = 0;
  try {
    const auto source = open();
    while (size < kHead) {
      const std::size_t count = source->read(head.data() + size, kHead - size);
      if (count == 0) break;
      size += count;
    }
  } catch (const trace::ParseError& error) {
    throw UserError(name_, error.message);
  }
  head.resize(size);
  return head;
}

}  // namespace uvmsim
