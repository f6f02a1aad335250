#include "trace/reader.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/user_error.h"
#include "trace/bytes.h"
#include "trace/checker.h"
#include "trace/error_list.h"
#include "trace/line_parser.h"

namespace uvmsim::trace {
namespace {

using Line = LineParser::Line;

class Reader {
 public:
  Reader(std::istream& in, const std::string& name, RecordVisitor& visitor)
      : name_(name),
        visitor_(visitor),
        source_(open_source(in)),
        lines_(*source_),
        checker_(errors_, [this](std::int64_t line) { return place(line); }) {}

  ReadSummary read() {
    while (!hopeless_ && read_line()) {
    }
    if (errors_.empty() && !has_header_) errors_.add(place(1), "expected the header, found an empty file");
    if (!errors_.empty()) throw UserError(name_, errors_.errors(name_));
    summary_.lines = lines_.line_number();
    summary_.ignored_tags = parser_.ignored_tags();
    summary_.ignored_keys = parser_.ignored_keys();
    return summary_;
  }

 private:
  // False at the end of the file.
  bool read_line() {
    try {
      std::string_view line;
      if (!lines_.next(line)) return false;
      show(parser_.parse(line));
    } catch (const ParseError& error) {
      understood_ = false;
      hopeless_ = !has_header_;
      errors_.add(place(lines_.line_number()), error.message);
    }
    return true;
  }

  void show(Line kind) {
    if (kind == Line::Blank) return;
    if ((kind == Line::OfHeader) == has_header_)
      throw ParseError{has_header_ ? "a second header" : "expected the header [\"M\",{\"v\":1,...}] before any record"};
    switch (kind) {
      case Line::OfHeader:
        has_header_ = true;
        checker_.on_header(parser_.header());
        visitor_.on_header(parser_.header());
        return;
      case Line::OfString:
        if (parser_.string_index() != strings_)
          throw ParseError{"expected string " + std::to_string(strings_) + ", the next one, found string " +
                           std::to_string(parser_.string_index())};
        ++strings_;
        checker_.on_string(parser_.text());
        visitor_.on_string(parser_.text());
        return;
      case Line::OfRecord: {
        const RecordContext context{parser_.accesses(), parser_.options(), parser_.variants(), lines_.line_number()};
        if (understood_) checker_.on_record(parser_.record(), context);
        visitor_.on_record(parser_.record(), context);
        ++summary_.records;
        return;
      }
      case Line::Blank:
      case Line::Ignored:
        return;
    }
  }

  std::string place(std::int64_t line) const { return name_ + ":" + std::to_string(line); }

  const std::string& name_;
  RecordVisitor& visitor_;
  std::unique_ptr<ByteSource> source_;
  LineReader lines_;
  LineParser parser_;
  ErrorList errors_;
  Checker checker_;
  ReadSummary summary_;
  std::int64_t strings_ = 0;
  bool has_header_ = false;
  bool understood_ = true;  // every line so far
  bool hopeless_ = false;   // this is no trace
};

std::ifstream open_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw UserError(path, std::string("cannot be opened: ") + std::strerror(errno));
  return in;
}

}  // namespace

ReadSummary read_records(std::istream& in, const std::string& name, RecordVisitor& visitor) {
  return Reader(in, name, visitor).read();
}

ReadSummary read_records(const std::string& path, RecordVisitor& visitor) {
  std::ifstream in = open_file(path);
  return read_records(in, path, visitor);
}

Trace read_trace(std::istream& in, const std::string& name) {
  TraceCollector collector;
  ReadSummary summary = read_records(in, name, collector);
  Trace trace = collector.take();
  trace.ignored_tags = std::move(summary.ignored_tags);
  trace.ignored_keys = std::move(summary.ignored_keys);
  return trace;
}

Trace read_trace(const std::string& path) {
  std::ifstream in = open_file(path);
  return read_trace(in, path);
}

}  // namespace uvmsim::trace
