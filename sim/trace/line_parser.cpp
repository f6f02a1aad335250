#include "trace/line_parser.h"

#include <algorithm>

#include "trace/header.h"

namespace uvmsim::trace {
namespace {

// Bounds on what is remembered of lines, so that a hostile file cannot fill memory with oddities.
constexpr std::size_t kMostIgnoredNames = 1000;
constexpr std::size_t kLongestName = 64;

void count_ignored(std::map<std::string, std::int64_t>& names, std::string name) {
  const bool printable = std::ranges::all_of(name, [](char c) { return c >= ' ' && c < 127; });
  if (!printable || name.size() > kLongestName) name = "(long or unprintable)";
  if (names.size() >= kMostIgnoredNames && !names.contains(name)) name = "(others)";
  ++names[name];
}

}  // namespace

LineParser::Line LineParser::parse(std::string_view line) {
  Scanner in(line);
  if (in.at_end()) return Line::Blank;
  in.expect('[');
  const std::string_view tag = in.raw_text("a record's tag in quotes");
  tag_ = tag.size() == 1 ? tag[0] : '\0';
  accesses_.clear();
  const Line kind = parse_tagged(in);
  if (kind == Line::Ignored) {
    while (in.accept(',')) in.skip_value();
    in.expect(']');
    count_ignored(ignored_tags_, std::string(tag));
  }
  if (!in.at_end()) in.fail("the end of the line");
  return kind;
}

LineParser::Line LineParser::parse_tagged(Scanner& in) {
  if (tag_ == 'M') {
    in.expect(',');
    header_ = parse_header(in.skip_value(), [&](std::string_view key) { ignore_key("M", key); });
    in.expect(']');
    return Line::OfHeader;
  }
  if (tag_ == 'S') {
    in.required(string_index_, kNumbers, "the string's index");
    if (!in.more()) in.fail("the string");
    text_ = in.text("the string");
    finish(in);
    return Line::OfString;
  }
  return parse_record(in) ? Line::OfRecord : Line::Ignored;
}

bool LineParser::parse_record(Scanner& in) {
  switch (tag_) {
    case 'A':
      return read_as<Alloc>(in);
    case 'F':
      return read_as<Free>(in);
    case 'a':
      return read_as<SegmentAlloc>(in);
    case 'f':
      return read_as<SegmentFree>(in);
    case 'K':
      return read_as<Kernel>(in);
    case 'C':
      return read_as<Copy>(in);
    case 'P':
      return read_as<Prefetch>(in);
    case 'D':
      return read_as<Discard>(in);
    case 'V':
      return read_as<Advise>(in);
    case 'X':
      return read_as<CollectiveOp>(in);
    case 'E':
      return read_as<EventRecord>(in);
    case 'W':
      return read_as<EventWait>(in);
    case 'Y':
      return read_as<Synchronize>(in);
    case 'H':
      return read_as<HostStep>(in);
    case 'I':
      return read_as<Iteration>(in);
    case 'R':
      return read_as<Phase>(in);
    case 'L':
      return read_as<Layer>(in);
    default:
      return false;
  }
}

template <class T>
bool LineParser::read_as(Scanner& in) {
  T record;
  fill(in, record);
  record_ = record;
  return true;
}

void LineParser::ignore_key(std::string_view place, std::string_view key) {
  count_ignored(ignored_keys_, std::string(place) + "." + std::string(key.substr(0, kLongestName)));
}

}  // namespace uvmsim::trace
