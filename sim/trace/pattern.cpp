#include "trace/pattern.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"
#include "trace/format.h"

namespace uvmsim::trace {
namespace {

struct Known {
  std::string name;
  PatternFacts facts;
};

std::map<Pattern, Known>& known() {
  static std::map<Pattern, Known> known;
  return known;
}

std::string grid_missing(const PatternOptions& o) {
  return o.rows > 0 && o.columns > 0 ? "" : "rows and columns in \"tile\"";
}
std::string row_missing(const PatternOptions& o) {
  return o.leading_dimension > 0 ? "" : "the leading dimension in \"tile\"";
}
std::string order_missing(const PatternOptions& o) { return o.order.empty() ? "\"order\"" : ""; }
std::string chain_missing(const PatternOptions& o) { return o.stride > 0 && o.count > 0 ? "" : "\"s\" and \"n\""; }
std::string planes_missing(const PatternOptions& o) {
  if (o.stride <= 0 || o.count <= 0) return "\"s\" and \"n\"";
  const bool in_reach = o.count <= kMostChannels &&
                        static_cast<double>(o.count) * static_cast<double>(o.stride) <= static_cast<double>(kMostBytes);
  return in_reach ? "" : "at most " + std::to_string(kMostChannels) + " planes in images of at most 2^48 bytes";
}

// A grid's rows and columns lie in its range; with a leading dimension of 0 they follow each other.
std::string grid_outside(const PatternOptions& o, std::int64_t bytes) {
  const auto row = static_cast<double>(o.columns) * static_cast<double>(o.element_bytes);
  const double pitch = o.leading_dimension > 0 ? static_cast<double>(o.leading_dimension) : row;
  const double span = static_cast<double>(o.rows - 1) * pitch + row;
  if (span <= static_cast<double>(bytes)) return "";
  std::string text = "\"tile\" spans ";
  return text + (span < 0x1p53 ? std::to_string(static_cast<std::int64_t>(span)) : "more than 2^53") + " bytes";
}
std::string order_outside(const PatternOptions& o, std::int64_t bytes) {
  const std::int64_t last = *std::ranges::max_element(o.order);
  return last < bytes ? "" : "\"order\" has offset " + std::to_string(last);
}

constexpr const char* kProposal = "uvmtrace v1 proposal";
constexpr const char* kOurs = "this program";

// In the order of their numbers. What each means stands next to its name in trace/record.h.
const bool kRegistered =
    add_pattern({.name = "seq", .summary = "slices in lock-step", .source = kProposal},
                {.pattern = Pattern::Sequential, .sweeps = true, .options = {"e", "chunk", "dep", "unroll"}}) &&
    add_pattern({.name = "tile", .summary = "tiles of a matrix product", .source = kProposal},
                {.pattern = Pattern::Tile, .options = {"tile", "e", "s", "w", "cta", "n"}}) &&
    add_pattern({.name = "rand", .summary = "places anywhere, uniform", .source = kProposal},
                {.pattern = Pattern::Random, .covers = false, .options = {"n", "g", "dep"}}) &&
    add_pattern({.name = "strided", .summary = "places at a stride", .source = kProposal},
                {.pattern = Pattern::Strided, .covers = false, .options = {"w", "s", "chunk", "dep"}}) &&
    add_pattern({.name = "bcast", .summary = "every CTA at its start", .source = kProposal},
                {.pattern = Pattern::Broadcast}) &&
    add_pattern({.name = "wide", .summary = "slices of 8 KiB per CTA", .source = kOurs},
                {.pattern = Pattern::Wide, .sweeps = true, .options = {"e", "dep", "unroll"}}) &&
    add_pattern({.name = "rows", .summary = "one CTA per row, two passes", .source = kOurs},
                {.pattern = Pattern::Rows, .sweeps = true, .options = {"tile", "e"}, .missing = row_missing}) &&
    add_pattern({.name = "stencil", .summary = "tiles of a grid, with a halo", .source = kOurs},
                {.pattern = Pattern::Stencil,
                 .sweeps = true,
                 .options = {"tile", "e", "n", "blk", "dep"},
                 .missing = grid_missing,
                 .outside = grid_outside}) &&
    add_pattern({.name = "grid2d", .summary = "tiles of a grid", .source = kOurs},
                {.pattern = Pattern::Grid2d,
                 .sweeps = true,
                 .options = {"tile", "e", "n", "blk", "dep"},
                 .missing = grid_missing,
                 .outside = grid_outside}) &&
    add_pattern({.name = "order", .summary = "given places by one thread", .source = kOurs}, {.pattern = Pattern::Order,
                                                                                              .covers = false,
                                                                                              .options = {"order", "w"},
                                                                                              .missing = order_missing,
                                                                                              .outside = order_outside,
                                                                                              .listed = true}) &&
    add_pattern({.name = "chase", .summary = "dependent places at a stride", .source = kOurs},
                {.pattern = Pattern::Chase,
                 .covers = false,
                 .options = {"n", "s", "w"},
                 .missing = chain_missing,
                 .listed = true}) &&
    add_pattern({.name = "channels", .summary = "one CTA per channel of images", .source = kOurs},
                {.pattern = Pattern::Channels, .options = {"n", "s", "w"}, .missing = planes_missing}) &&
    add_pattern({.name = "pixels", .summary = "tiles of a convolution over images", .source = kOurs},
                {.pattern = Pattern::Pixels, .options = {"n", "s", "e"}, .missing = planes_missing});

}  // namespace

bool add_pattern(PlugInText text, const PatternFacts& facts) {
  UVMSIM_CHECK(known().emplace(facts.pattern, Known{text.name, facts}).second, "two patterns share a number");
  return add_plug_in<AccessPattern, AccessPattern>(std::move(text));
}

std::vector<std::string_view> unused_options(Pattern pattern, const PatternOptions& o) {
  const PatternFacts* facts = find_pattern(pattern);
  const std::pair<std::string_view, bool> given[] = {
      {"tile", o.rows != 0 || o.columns != 0 || o.leading_dimension != 0},
      {"e", o.element_bytes != PatternOptions{}.element_bytes},
      {pattern == Pattern::Random ? "g" : "w", o.width != 0},
      {"s", o.stride != 0},
      {"n", o.count != 0},
      {"order", !o.order.empty()},
      {"chunk", o.chunk != 0},
      {"dep", o.dependent},
      {"unroll", o.unroll != PatternOptions{}.unroll},
      {"blk", o.block_x != 0 || o.block_y != 0},
      {"cta", o.cta_rows != 0 || o.cta_columns != 0}};
  std::vector<std::string_view> unused;
  for (const auto& [name, is_given] : given)
    if (is_given && facts != nullptr && std::ranges::find(facts->options, name) == facts->options.end())
      unused.push_back(name);
  return unused;
}

const PatternFacts* find_pattern(Pattern pattern) {
  const auto found = known().find(pattern);
  return found == known().end() ? nullptr : &found->second.facts;
}

const std::string& pattern_name(Pattern pattern) {
  static const std::string none;
  const auto found = known().find(pattern);
  return found == known().end() ? none : found->second.name;
}

Pattern last_pattern() { return known().rbegin()->first; }

bool covers_its_range(Pattern pattern) {
  const PatternFacts* facts = find_pattern(pattern);
  return facts != nullptr && facts->covers;
}

bool covers_its_range(const Access& access, std::int64_t tensor_bytes) {
  return access.offset == 0 && (access.length < 0 || access.length >= tensor_bytes) && covers_its_range(access.pattern);
}

}  // namespace uvmsim::trace
