// Access patterns: what the trace format and those who plan know of each. How the CTAs of a kernel touch an operand is
// the GPU's business: a pattern's program registers in gpu/programs/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/registry.h"
#include "trace/record.h"

namespace uvmsim::trace {

struct PatternFacts {
  Pattern pattern = Pattern::Sequential;  // its number in trace files: no two patterns share one
  // Whether an access touches all bytes of its range, not just places in it: a write then leaves nothing of what was
  // there.
  bool covers = true;
  // Whether CTA i of N touches about slice i/N of the range, so that a kernel's progress says what is still to come.
  bool sweeps = false;
  // The options that it takes, by their names in the format: any other one has no effect.
  std::vector<std::string_view> options = {};
  // The options that an access must have and has not, "rows and columns in \"tile\""; "" when it has them. nullptr: it
  // needs none.
  std::string (*missing)(const PatternOptions&) = nullptr;
  // What of an access with these options reaches outside its range of `bytes`, "\"tile\" spans 4000 bytes"; "" when
  // nothing does. nullptr: nothing can.
  std::string (*outside)(const PatternOptions&, std::int64_t bytes) = nullptr;
  // Whether the touches are made one by one from a list: there is memory for fewer of them (kMostListedTouches).
  bool listed = false;
};

// A pattern as `uvmsim list pattern` knows it.
class AccessPattern final : public PlugIn {
 public:
  static constexpr KindText kKind{.name = "pattern", .noun = "access pattern", .use = "the accesses of a trace"};
};

// Registers a pattern. The thirteen of the format are trace/pattern.cpp's; another one has the next free number, and
// its file in gpu/programs/ registers it here and its program there.
bool add_pattern(PlugInText text, const PatternFacts& facts);

// Of `options`, those that are given and that `pattern` does not take, by their names in the format.
std::vector<std::string_view> unused_options(Pattern pattern, const PatternOptions& options);

// nullptr: no pattern has the number.
const PatternFacts* find_pattern(Pattern pattern);
const std::string& pattern_name(Pattern pattern);  // "" for one that is not known
Pattern last_pattern();                            // the largest number of a pattern

// Whether an access with this pattern touches all bytes of its range.
bool covers_its_range(Pattern pattern);

// Whether `access` touches all bytes of a tensor of `tensor_bytes`: its range is the whole tensor, and its pattern
// covers it. With Mode::Write the tensor's old contents are dead.
bool covers_its_range(const Access& access, std::int64_t tensor_bytes);

}  // namespace uvmsim::trace
