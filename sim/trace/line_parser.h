// One line of a trace to one record. Syntax and ranges only; what the records mean together is trace/checker.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trace/record.h"
#include "trace/scanner.h"

namespace uvmsim::trace {

class LineParser {
 public:
  enum class Line { Blank, Ignored, OfHeader, OfString, OfRecord };

  // What the line holds; the matching accessor below has it until the next call. Throws ParseError.
  Line parse(std::string_view line);

  const Header& header() const { return header_; }
  StringIndex string_index() const { return string_index_; }
  const std::string& text() const { return text_; }
  const Record& record() const { return record_; }
  const std::vector<Access>& accesses() const { return accesses_; }

  // All the access options so far; equal texts share an entry.
  const std::vector<PatternOptions>& options() const { return options_; }
  // All the lists of launch variants so far; the same for equal texts.
  const std::vector<LaunchVariants>& variants() const { return variants_; }

  // What was skipped, by tag and by "tag.key".
  const std::map<std::string, std::int64_t>& ignored_tags() const { return ignored_tags_; }
  const std::map<std::string, std::int64_t>& ignored_keys() const { return ignored_keys_; }

 private:
  Line parse_tagged(Scanner& in);
  bool parse_record(Scanner& in);
  template <class T>
  bool read_as(Scanner& in);

  // The positional values of a record, its trailing object and its end.
  void fill(Scanner& in, Alloc& alloc);
  void fill(Scanner& in, Free& free);
  void fill(Scanner& in, SegmentAlloc& segment);
  void fill(Scanner& in, SegmentFree& segment);
  void fill(Scanner& in, Kernel& kernel);
  void fill(Scanner& in, Copy& copy);
  void fill(Scanner& in, Prefetch& prefetch);
  void fill(Scanner& in, Discard& discard);
  void fill(Scanner& in, Advise& advise);
  void fill(Scanner& in, CollectiveOp& collective);
  void fill(Scanner& in, EventRecord& event);
  void fill(Scanner& in, EventWait& event);
  void fill(Scanner& in, Synchronize& synchronize);
  void fill(Scanner& in, HostStep& step);
  void fill(Scanner& in, Iteration& iteration);
  void fill(Scanner& in, Phase& phase);
  void fill(Scanner& in, Layer& layer);

  AccessSpan read_accesses(Scanner& in);
  void read_access(Scanner& in);
  std::int32_t read_options(Scanner& in);
  std::int32_t read_variants(Scanner& in);

  // The trailing object, if there is one, and the end of the record. `on_key` as in Scanner::object.
  template <class OnKey>
  void finish(Scanner& in, OnKey&& on_key);
  void finish(Scanner& in);
  void ignore_key(std::string_view place, std::string_view key);

  char tag_ = 0;
  Header header_;
  StringIndex string_index_ = 0;
  std::string text_;
  Record record_;
  std::vector<Access> accesses_;
  std::vector<PatternOptions> options_;
  std::map<std::string, std::int32_t, std::less<>> option_texts_;  // to an index into options_
  std::vector<LaunchVariants> variants_;
  std::map<std::string, std::int32_t, std::less<>> variant_texts_;  // to an index into variants_
  std::map<std::string, std::int64_t> ignored_tags_, ignored_keys_;
};

}  // namespace uvmsim::trace
