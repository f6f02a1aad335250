#include "workload/iterations.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/check.h"

namespace uvmsim {
namespace {

constexpr std::size_t kRareNames = 32;     // whose distances are looked at
constexpr std::size_t kOccurrences = 256;  // of each, from the end: the steady part
constexpr int kSpans = 4;                  // a name may occur so often in a period
constexpr std::size_t kCandidates = 128;   // periods that are verified
constexpr std::int64_t kCovered = 90;      // percent of the kernels that iterations hold, or they are none

// Periods worth verifying, the most frequent distances first.
std::vector<std::int64_t> candidates(const std::vector<std::int32_t>& names) {
  std::unordered_map<std::int32_t, std::int64_t> counts;
  for (const std::int32_t name : names) ++counts[name];
  std::vector<std::pair<std::int64_t, std::int32_t>> rare;  // by count, then name: the map's order does not matter
  for (const auto& [name, count] : counts)
    if (count >= 2) rare.emplace_back(count, name);
  std::ranges::sort(rare);
  rare.resize(std::min(rare.size(), kRareNames));

  std::map<std::int64_t, std::int64_t> distances;
  for (const auto& [count, name] : rare) {
    std::vector<std::int64_t> at;
    for (std::size_t i = names.size(); i-- > 0 && at.size() < kOccurrences;)
      if (names[i] == name) at.push_back(static_cast<std::int64_t>(i));
    for (std::size_t i = 0; i < at.size(); ++i)
      for (std::size_t span = 1; span <= kSpans && i + span < at.size(); ++span) ++distances[at[i] - at[i + span]];
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> by_count;
  for (const auto& [distance, count] : distances) by_count.emplace_back(-count, distance);
  std::ranges::sort(by_count);
  by_count.resize(std::min(by_count.size(), kCandidates));
  std::vector<std::int64_t> periods;
  for (const auto& [count, distance] : by_count) periods.push_back(distance);
  return periods;
}

// The shortest periods of the sequences that start at the middle and go a half, a quarter, an eighth of the length on:
// the one left where even the rarest names occur often in an iteration. (The failure function of Knuth, Morris, Pratt.)
std::vector<std::int64_t> middle_periods(const std::vector<std::int32_t>& names) {
  const std::size_t first = names.size() / 2, length = names.size() - first;
  std::vector<std::int64_t> border(length + 1, 0);  // of the first i elements: how many are also their last ones
  std::vector<std::int64_t> periods;
  for (std::size_t i = 1, matched = 0; i < length; ++i) {
    while (matched > 0 && names[first + i] != names[first + matched])
      matched = static_cast<std::size_t>(border[matched]);
    if (names[first + i] == names[first + matched]) ++matched;
    border[i + 1] = static_cast<std::int64_t>(matched);
  }
  for (const std::size_t part : {length, length / 2, length / 4})
    if (part > 0) periods.push_back(static_cast<std::int64_t>(part) - border[part]);
  return periods;
}

// The longest run in which every element equals the one `period` later.
Repetition longest(const std::vector<std::int32_t>& names, std::int64_t period) {
  Repetition best{.period = period};
  const auto size = static_cast<std::int64_t>(names.size());
  std::int64_t first = 0;
  for (std::int64_t i = 0; i + period <= size; ++i) {
    const bool equal =
        i + period < size && names[static_cast<std::size_t>(i)] == names[static_cast<std::size_t>(i + period)];
    if (equal) continue;
    const std::int64_t count = (i - first + period) / period;  // i - first equal pairs
    if (count >= 2 && count * period > best.count * best.period) best.first = first, best.count = count;
    first = i + 1;
  }
  return best;
}

std::int64_t covered(const Repetition& r) { return r.period * r.count; }

// Live bytes before each record, and the record of each kernel.
struct Timeline {
  std::vector<std::int64_t> live;
  std::vector<std::size_t> kernels;
};

Timeline timeline_of(const trace::Trace& trace) {
  Timeline timeline;
  std::unordered_map<trace::TensorId, std::int64_t> bytes;
  std::int64_t live = 0;
  for (std::size_t i = 0; i < trace.records.size(); ++i) {
    timeline.live.push_back(live);
    if (const auto* a = std::get_if<trace::Alloc>(&trace.records[i])) live += bytes[a->tensor] = a->bytes;
    if (const auto* f = std::get_if<trace::Free>(&trace.records[i])) live -= bytes[f->tensor];
    if (std::holds_alternative<trace::Kernel>(trace.records[i])) timeline.kernels.push_back(i);
  }
  timeline.live.push_back(live);
  return timeline;
}

// The record before which an iteration that starts with kernel `kernel` is marked: after the kernel before it, where
// the least memory is alive.
std::size_t boundary(const Timeline& timeline, std::int64_t kernel) {
  const std::size_t last = timeline.kernels[static_cast<std::size_t>(kernel)];
  const std::size_t first = kernel == 0 ? 0 : timeline.kernels[static_cast<std::size_t>(kernel - 1)] + 1;
  std::size_t best = last;
  for (std::size_t i = last; i-- > first;)
    if (timeline.live[i] < timeline.live[best]) best = i;
  return best;
}

// Moves the start of the iterations to where the least memory is alive, as long as no whole iteration is lost.
Repetition aligned(Repetition found, const Timeline& timeline, std::int64_t run_end) {
  std::int64_t best_shift = 0, best_live = -1;
  const std::int64_t room = std::min(found.period - 1, run_end - found.first - 2 * found.period);
  for (std::int64_t shift = 0; shift <= room; ++shift) {
    // The second iteration: the first one may follow a set-up of another shape.
    const std::int64_t live = timeline.live[boundary(timeline, found.first + found.period + shift)];
    if (best_live >= 0 && live >= best_live) continue;
    best_live = live;
    best_shift = shift;
  }
  found.first += best_shift;
  found.count = (run_end - found.first) / found.period;
  return found;
}

}  // namespace

Repetition find_repetition(const std::vector<std::int32_t>& names) {
  std::vector<Repetition> found;
  std::int64_t most = 0;
  std::vector<std::int64_t> periods = candidates(names);
  for (const std::int64_t period : middle_periods(names)) periods.push_back(period);
  for (const std::int64_t period : periods) {
    const Repetition one = longest(names, period);
    if (one.count < 2) continue;
    most = std::max(most, covered(one));
    found.push_back(one);
  }
  Repetition best;
  for (const Repetition& one : found)
    if (covered(one) * 20 >= most * 19 && (best.count == 0 || one.period < best.period)) best = one;
  return best;
}

std::size_t next_iteration(const trace::Trace& trace, std::size_t from) {
  while (from < trace.records.size() && !std::holds_alternative<trace::Iteration>(trace.records[from])) ++from;
  return std::min(from, trace.records.size());
}

std::size_t optimizer_of(const trace::Trace& trace, std::size_t first, std::size_t outer) {
  for (; first < outer; ++first)
    if (const auto* phase = std::get_if<trace::Phase>(&trace.records[first]);
        phase != nullptr && trace.strings[static_cast<std::size_t>(phase->name)] == "optimizer")
      break;
  return first;
}

bool has_iterations(const trace::Trace& trace) { return next_iteration(trace, 0) < trace.records.size(); }

std::string mark_iterations(trace::Trace& trace) {
  UVMSIM_CHECK(!has_iterations(trace), "iterations are marked once");
  std::vector<std::int32_t> names;
  for (const trace::Record& record : trace.records)
    if (const auto* kernel = std::get_if<trace::Kernel>(&record)) names.push_back(kernel->name);
  Repetition found = find_repetition(names);
  if (found.count < 2) {
    const std::string why = "iterations: none marked, and the kernels' names do not repeat";
    trace.header.unknowns.push_back(why);
    return "none: the kernels' names do not repeat";
  }
  if (const auto all = static_cast<std::int64_t>(names.size()); covered(found) * 100 < all * kCovered) {
    const std::string why = "none: what repeats is " + std::to_string(found.count) + " times " +
                            std::to_string(found.period) + " of " + std::to_string(all) + " kernels, less than " +
                            std::to_string(kCovered) + " %";
    trace.header.unknowns.push_back("iterations: " + why);
    return why;
  }
  std::int64_t run_end = found.first + found.period;  // of the repetition, the broken-off part of it included
  while (run_end < static_cast<std::int64_t>(names.size()) &&
         names[static_cast<std::size_t>(run_end)] == names[static_cast<std::size_t>(run_end - found.period)])
    ++run_end;
  const Timeline timeline = timeline_of(trace);
  found = aligned(found, timeline, run_end);

  const auto kernels = static_cast<std::int64_t>(names.size());
  std::vector<std::size_t> starts;
  const std::int64_t rest = kernels - found.first - covered(found);
  for (std::int64_t i = 0; i < found.count + (rest > 0 ? 1 : 0); ++i)
    starts.push_back(boundary(timeline, found.first + i * found.period));
  // From the back and in place: a trace can be most of the memory.
  std::size_t from = trace.records.size(), left = starts.size();
  trace.records.resize(from + left);
  while (left > 0) {
    --from;
    trace.records[from + left] = std::move(trace.records[from]);
    if (starts[left - 1] != from) continue;
    --left;
    trace.records[from + left] = trace::Iteration{static_cast<std::int64_t>(left)};
  }
  std::string said = std::to_string(found.count) + " of " + std::to_string(found.period) +
                     " kernels each, found by the repetition of their names; " + std::to_string(found.first) +
                     " kernels before";
  if (rest > 0) said += ", " + std::to_string(rest) + " after, as iteration " + std::to_string(found.count);
  trace.header.unknowns.push_back("iterations: " + said);
  return said;
}

}  // namespace uvmsim
