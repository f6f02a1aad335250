#include "workload/repeat.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/check.h"
#include "base/user_error.h"

namespace uvmsim {
namespace {

using trace::TensorId;

bool alike(const trace::Alloc& a, const trace::Alloc& b) {
  return a.bytes == b.bytes && a.kind == b.kind && a.device == b.device && a.stream == b.stream && a.space == b.space;
}

std::string describe(const trace::Alloc& a) {
  return "tensor " + std::to_string(a.tensor) + " of " + std::to_string(a.bytes) + " B";
}

// Appends copies of the last iteration of a trace.
class Repeater {
 public:
  Repeater(trace::Trace& trace, std::size_t first)
      : trace_(trace), body_(trace.records.begin() + static_cast<std::ptrdiff_t>(first), trace.records.end()) {
    std::map<TensorId, Held> live;
    std::vector<Held> taken, left;
    for (std::size_t i = 0; i < trace.records.size(); ++i) {
      const trace::Record& record = trace.records[i];
      if (const auto* a = std::get_if<trace::Alloc>(&record)) {
        next_id_ = std::max(next_id_, a->tensor + 1);
        live[a->tensor] = {*a, i};
      } else if (const auto* f = std::get_if<trace::Free>(&record)) {
        const auto freed = live.find(f->tensor);
        UVMSIM_CHECK(freed != live.end(), "only live tensors are freed");
        if (i >= first && freed->second.position < first) taken.push_back(freed->second);
        live.erase(freed);
      } else if (i >= first && (std::holds_alternative<trace::SegmentAlloc>(record) ||
                                std::holds_alternative<trace::SegmentFree>(record))) {
        refuse("it records driver-level segments");
      }
    }
    for (const auto& [id, held] : live)
      if (held.position >= first) left.push_back(held);
    hand_over(taken, left);
  }

  void append_copy(std::int64_t index) {
    // A tensor taken over is the one that the iteration before left behind, under the name it had there.
    std::unordered_map<TensorId, TensorId> now;
    for (const auto& [taken, left] : handed_over_) now[taken] = name_in(previous_, left);
    for (const trace::Record& record : body_) {
      trace::Record copy = record;
      std::visit([&](auto& r) { rename(r, now); }, copy);
      if (auto* iteration = std::get_if<trace::Iteration>(&copy)) iteration->index = index;
      trace_.records.push_back(std::move(copy));
    }
    previous_ = std::move(now);
  }

 private:
  struct Held {
    trace::Alloc alloc;
    std::size_t position = 0;  // of its record
  };

  [[noreturn]] void refuse(const std::string& why) const {
    throw UserError(trace_.header.name, "cannot repeat the last iteration: " + why);
  }

  // Pairs what the iteration takes over and frees with what it leaves behind.
  void hand_over(std::vector<Held>& taken, std::vector<Held>& left) {
    std::ranges::sort(taken, {}, &Held::position);
    std::ranges::sort(left, {}, &Held::position);
    for (std::size_t i = 0; i < std::max(taken.size(), left.size()); ++i) {
      if (i >= left.size()) refuse("it frees " + describe(taken[i].alloc) + " and leaves none like it behind");
      if (i >= taken.size()) refuse("it leaves " + describe(left[i].alloc) + " behind and frees none like it");
      if (!alike(taken[i].alloc, left[i].alloc))
        refuse("it frees " + describe(taken[i].alloc) + " but leaves " + describe(left[i].alloc) + " behind");
      handed_over_.emplace_back(taken[i].alloc.tensor, left[i].alloc.tensor);
    }
  }

  static TensorId name_in(const std::unordered_map<TensorId, TensorId>& names, TensorId id) {
    const auto found = names.find(id);
    return found == names.end() ? id : found->second;
  }

  using Names = std::unordered_map<TensorId, TensorId>;
  void rename(trace::Alloc& r, Names& now) { r.tensor = now[r.tensor] = next_id_++; }
  template <class R>
  void rename(R& r, Names& now) {
    if constexpr (requires { r.tensor; }) r.tensor = name_in(now, r.tensor);
    if constexpr (requires { r.accesses; }) r.accesses = renamed(r.accesses, now);
  }

  trace::AccessSpan renamed(trace::AccessSpan span, const Names& now) {
    const auto first = static_cast<std::uint32_t>(trace_.accesses.size());
    for (std::uint32_t i = span.first; i < span.first + span.count; ++i) {
      trace::Access access = trace_.accesses[i];
      access.tensor = name_in(now, access.tensor);
      trace_.accesses.push_back(access);
    }
    return {first, span.count};
  }

  trace::Trace& trace_;
  std::vector<trace::Record> body_;                         // the iteration repeated
  std::vector<std::pair<TensorId, TensorId>> handed_over_;  // taken over by it, left behind by it
  Names previous_;                                          // names in the copy before
  TensorId next_id_ = 0;
};

// What is allocated, and touched by the host, before anything else is set-up. The program ends when the GPU is done.
trace::Trace as_one_iteration(const trace::Trace& trace) {
  trace::Trace result = trace;
  const auto set_up = [](const trace::Record& record) {
    return std::holds_alternative<trace::Alloc>(record) || std::holds_alternative<trace::HostStep>(record);
  };
  result.records.insert(std::ranges::find_if_not(result.records, set_up), trace::Iteration{0});
  result.records.push_back(trace::Synchronize{-1});
  return result;
}

}  // namespace

trace::Trace repeat_last_iteration(const trace::Trace& trace, int iterations) {
  UVMSIM_CHECK(iterations >= 1, "a trace keeps at least one iteration");
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < trace.records.size(); ++i)
    if (std::holds_alternative<trace::Iteration>(trace.records[i])) starts.push_back(i);
  if (starts.empty() && iterations == 1) return as_one_iteration(trace);
  if (starts.empty())
    throw UserError(trace.header.name,
                    "cannot repeat an iteration: the trace marks none. Simulate all of it once (--set "
                    "run.warmup=0 --set run.iterations=1)");

  trace::Trace result = trace;
  const auto wanted = static_cast<std::size_t>(iterations);
  if (wanted < starts.size()) result.records.resize(starts[wanted]);
  if (wanted <= starts.size()) return result;
  Repeater repeater(result, starts.back());
  const std::int64_t last = std::get<trace::Iteration>(trace.records[starts.back()]).index;
  for (std::size_t i = starts.size(); i < wanted; ++i)
    repeater.append_copy(last + static_cast<std::int64_t>(i - starts.size() + 1));
  return result;
}

}  // namespace uvmsim
