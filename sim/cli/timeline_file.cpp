#include "cli/timeline_file.h"

#include <array>
#include <zlib.h>

#include "base/check.h"
#include "base/quantity.h"
#include "base/user_error.h"
#include "report/timeline.h"

namespace uvmsim {
namespace {

// A gzip stream being written: RFC 1952.
class GzipStream {
 public:
  explicit GzipStream(std::ostream& out) : out_(out) {
    constexpr int kGzip = 16 + MAX_WBITS;
    UVMSIM_CHECK(deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) == Z_OK,
                 "zlib starts");
  }
  ~GzipStream() { deflateEnd(&stream_); }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  void write(std::string_view text) { deflate_all(text, Z_NO_FLUSH); }
  void finish() { deflate_all({}, Z_FINISH); }

 private:
  void deflate_all(std::string_view text, int flush) {
    std::string in(text);
    stream_.next_in = reinterpret_cast<Bytef*>(in.data());
    stream_.avail_in = static_cast<uInt>(in.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(buffer_.data());
      stream_.avail_out = static_cast<uInt>(buffer_.size());
      deflate(&stream_, flush);
      out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size() - stream_.avail_out));
    } while (stream_.avail_out == 0);
  }

  std::ostream& out_;
  z_stream stream_{};
  std::array<char, 1 << 16> buffer_{};
};

std::optional<Time> time_of(const std::string& text, Time otherwise) {
  return text.empty() ? otherwise : parse_duration(text);
}

}  // namespace

void add_timeline_options(Verb verb, TimelineArguments& arguments) {
  verb.option("--timeline", arguments.path,
              "write what happened, for ui.perfetto.dev: .json or .json.gz (Trace Event Format) or .pftrace");
  verb.option("--timeline-window", arguments.window,
              "only this part of the simulated time, such as \"1.5 s:2 s\"; either end may be left out");
  verb.option("--timeline-level", arguments.level,
              "kernels; batches adds fault servicers and links; copies adds copy engines, evictions and flows")
      .one_of({"kernels", "batches", "copies"})
      .show_default();
}

TimelineOptions timeline_options(const TimelineArguments& arguments) {
  TimelineOptions options;
  if (arguments.level == "kernels") options.level = TimelineLevel::Kernels;
  if (arguments.level == "batches") options.level = TimelineLevel::Batches;
  if (arguments.window.empty()) return options;
  const std::size_t colon = arguments.window.find(':');
  if (colon != std::string::npos) {
    const auto begin = time_of(arguments.window.substr(0, colon), Time{});
    const auto end = time_of(arguments.window.substr(colon + 1), kNever);
    if (begin && end && *begin >= Time{} && *begin < *end) {
      options.begin = *begin;
      options.end = *end;
      return options;
    }
  }
  throw UserError("--timeline-window", "expected BEGIN:END with BEGIN before END, each " + std::string(kDurationForm) +
                                           ", found \"" + arguments.window + "\"");
}

TimelineFile::Format TimelineFile::format_of(const std::string& path) {
  if (path.ends_with(".json")) return Format::Json;
  if (path.ends_with(".json.gz")) return Format::GzippedJson;
  if (path.ends_with(".pftrace")) return Format::Perfetto;
  throw UserError("--timeline", "expected a name that ends in .json, .json.gz or .pftrace, found \"" + path + "\"");
}

TimelineFile::TimelineFile(const std::string& path, const std::vector<std::string>& inputs)
    : format_(format_of(path)), file_(path, inputs) {}

void TimelineFile::keep(const Timeline& timeline) {
  std::ostream& out = file_.stream();
  const TextSink plain = [&](std::string_view text) { out << text; };
  if (format_ == Format::Perfetto) {
    write_perfetto(timeline, plain);
  } else if (format_ == Format::Json) {
    write_chrome_json(timeline, plain);
  } else {
    GzipStream gzip(out);
    write_chrome_json(timeline, [&](std::string_view text) { gzip.write(text); });
    gzip.finish();
  }
  file_.keep();
}

}  // namespace uvmsim
