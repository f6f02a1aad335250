#include "importers/host_ranges.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <tuple>

#include "base/lower_case.h"
#include "importers/text_fields.h"

namespace uvmsim {
namespace {

constexpr std::string_view kNode = "autograd::engine::evaluate_function: ";

// "## forward ##" is "forward", as torchrec and DistributedDataParallel write.
std::string_view bare(std::string_view name) {
  name = trimmed(name);
  while (!name.empty() && name.front() == '#') name.remove_prefix(1);
  while (!name.empty() && name.back() == '#') name.remove_suffix(1);
  return trimmed(name);
}

// "step 7", "ProfilerStep#3", "iteration_12": one of these words, and nothing after it but a number.
bool is_iteration(std::string_view name) {
  constexpr std::array<std::string_view, 7> kWords = {"profilerstep",  "iteration", "iter", "train_step",
                                                      "training_step", "step",      "batch"};
  const std::string text = lower_case(name);
  return std::ranges::any_of(kWords, [&](std::string_view word) {
    return text.starts_with(word) && std::none_of(text.begin() + static_cast<std::ptrdiff_t>(word.size()), text.end(),
                                                  [](unsigned char c) { return std::isalpha(c) != 0; });
  });
}

// "forward", "DistributedDataParallel.forward", "backward pass", "forward-compute"; not "forward:sparse_arch", which is
// a part of one.
bool is_word(std::string_view name, std::string_view word) {
  const std::string text = lower_case(name);
  if (text.ends_with("." + std::string(word))) return true;
  return text.starts_with(word) &&
         (text.size() == word.size() || std::string_view(" -_").find(text[word.size()]) != std::string_view::npos);
}

bool is_optimizer(std::string_view name) {
  return name.starts_with("Optimizer.step#") || name.starts_with("Optimizer.zero_grad#") ||
         is_word(name, "optimizer") || is_word(name, "optimizer.step");
}

// What libraries and the loader of data mark is no layer.
bool is_of_a_library(std::string_view name) {
  constexpr std::array<std::string_view, 4> kStarts = {"nccl", "gloo:", "hccl:", "enumerate(DataLoader)"};
  return std::ranges::any_of(kStarts, [&](std::string_view start) { return name.starts_with(start); });
}

// The number in "aten::mul, seq = 5, op_id = 3", as torch.autograd.profiler.emit_nvtx writes; -1: none.
std::int64_t sequence_in(std::string_view name) {
  constexpr std::string_view kMark = ", seq = ";
  const std::size_t mark = name.find(kMark);
  if (mark == name.npos) return -1;
  name.remove_prefix(mark + kMark.size());
  return number_of<std::int64_t>(name.substr(0, name.find(','))).value_or(-1);
}

// "aten::mul", "aten::mul, seq = 5": the first word of an operator's name has its namespace.
bool is_operator(std::string_view name) {
  const std::string_view word = name.substr(0, name.find_first_of(" ,("));
  return word.find("::") != word.npos || sequence_in(name) >= 0 || name.find(", op_id = ") != name.npos;
}

}  // namespace

void HostRanges::push(Range range, std::string_view name) {
  if (range.end < range.start) return;
  if (!name.empty()) {
    const auto [found, added] = name_of_.try_emplace(std::string(name), static_cast<std::int32_t>(names_.size()));
    if (added) names_.emplace_back(name);
    range.name = found->second;
  }
  phases_ = phases_ || range.kind == Kind::Backward || range.kind == Kind::Optimizer || range.kind == Kind::Node;
  ranges_.push_back(range);
}

void HostRanges::add(std::int64_t thread, std::int64_t start, std::int64_t end, std::string_view name) {
  const std::string_view text = bare(name);
  Range range{.thread = thread, .start = start, .end = end};
  if (is_operator(text)) return add_operator(thread, start, end, text, sequence_in(text));
  if (text.empty() || is_of_a_library(text)) return;
  if (is_iteration(text))
    range.kind = Kind::Iteration;
  else if (is_word(text, "forward"))
    range.kind = Kind::Forward;
  else if (is_word(text, "backward"))
    range.kind = Kind::Backward;
  else if (is_optimizer(text))
    range.kind = Kind::Optimizer;
  else
    return push(range, text);
  push(range);
}

void HostRanges::add_module(std::int64_t thread, std::int64_t start, std::int64_t end, std::string_view name) {
  push({.thread = thread, .start = start, .end = end, .kind = Kind::Module}, name);
}

void HostRanges::add_operator(std::int64_t thread, std::int64_t start, std::int64_t end, std::string_view name,
                              std::int64_t sequence) {
  const bool node = name.starts_with(kNode);
  if (sequence < 0 && !node) return;
  push(
      {.thread = thread, .start = start, .end = end, .sequence = sequence, .kind = node ? Kind::Node : Kind::Operator});
}

void HostRanges::sort() {
  std::ranges::sort(ranges_, {}, [](const Range& r) { return std::tuple(r.thread, r.start, ~r.end, r.kind, r.name); });
  std::vector<std::int32_t> open;  // around the range, the innermost last
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    Range& range = ranges_[i];
    std::erase_if(open, [&](std::int32_t o) {
      const Range& other = ranges_[static_cast<std::size_t>(o)];
      return other.thread != range.thread || other.end < range.start;
    });
    if (!open.empty()) range.outer = open.back();
    if (range.kind == Kind::Operator) learn_layer(range, open);
    open.push_back(static_cast<std::int32_t>(i));
  }
}

// The last operator with a number makes the node of backward; those before it made none. Operators within backward may
// have the number of what they differentiate.
void HostRanges::learn_layer(const Range& range, const std::vector<std::int32_t>& open) {
  std::int32_t name = -1;
  for (const std::int32_t o : open) {
    const Range& outer = ranges_[static_cast<std::size_t>(o)];
    if (outer.kind == Kind::Node || outer.kind == Kind::Backward) return;
    if (outer.name >= 0) name = outer.name;
  }
  if (name >= 0) layer_of_sequence_[range.sequence] = name;
}

std::string_view HostRanges::layer_of(const Range& range) const {
  std::int32_t name = range.name;
  if (range.kind == Kind::Node)
    if (const auto found = layer_of_sequence_.find(range.sequence); found != layer_of_sequence_.end())
      name = found->second;
  return name < 0 ? std::string_view{} : std::string_view{names_[static_cast<std::size_t>(name)]};
}

HostRanges::Place HostRanges::at(std::int64_t thread, std::int64_t time) const {
  Place place;
  bool forward = false;
  const auto after = std::ranges::upper_bound(ranges_, std::pair(thread, time), {},
                                              [](const Range& r) { return std::pair(r.thread, r.start); });
  std::int32_t next = static_cast<std::int32_t>(after - ranges_.begin()) - 1;
  for (; next >= 0 && ranges_[static_cast<std::size_t>(next)].thread == thread;
       next = ranges_[static_cast<std::size_t>(next)].outer) {
    const Range& range = ranges_[static_cast<std::size_t>(next)];
    if (range.end < time) continue;
    if (range.kind == Kind::Iteration) break;  // what is around iterations is no part of one
    if (place.layer.empty()) place.layer = layer_of(range);
    forward = forward || range.kind == Kind::Module || range.kind == Kind::Operator;
    if (!place.phase.empty()) continue;
    if (range.kind == Kind::Forward) place.phase = "forward";
    if (range.kind == Kind::Backward || range.kind == Kind::Node) place.phase = "backward";
    if (range.kind == Kind::Optimizer) place.phase = "optimizer";
  }
  if (place.phase.empty() && forward && phases_) place.phase = "forward";
  return place;
}

std::vector<std::int64_t> HostRanges::iterations() const {
  std::vector<const Range*> found;
  for (const Range& range : ranges_)
    if (range.kind == Kind::Iteration) found.push_back(&range);
  if (found.empty()) return {};
  const std::int64_t thread = (*std::ranges::min_element(found, {}, [](const Range* r) { return r->start; }))->thread;
  std::vector<std::int64_t> starts;
  std::int64_t end = INT64_MIN;
  for (const Range* range : found) {
    if (range->thread != thread || range->start < end) continue;
    starts.push_back(range->start);
    end = range->end;
  }
  return starts;
}

}  // namespace uvmsim
