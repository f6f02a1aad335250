#include "importers/observer_join.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>

namespace uvmsim {
namespace {

using Names = std::vector<std::int32_t>;

// Where `part` occurs in `all`; nullopt: nowhere, or more than once.
std::optional<std::size_t> only_place(const Names& part, const Names& all) {
  const std::boyer_moore_horspool_searcher searcher(part.begin(), part.end());
  const auto first = std::search(all.begin(), all.end(), searcher);
  if (first == all.end() || std::search(first + 1, all.end(), searcher) != all.end()) return std::nullopt;
  return static_cast<std::size_t>(first - all.begin());
}

// The operators of a thread in the order in which they began: External ids count up with it, times may be equal.
struct Thread {
  std::vector<std::size_t> ops;  // into events.ops
  Names names;
};

std::map<std::int64_t, Thread> threads_of(const KinetoEvents& events) {
  std::map<std::int64_t, Thread> threads;
  for (std::size_t i = 0; i < events.ops.size(); ++i) threads[events.ops[i].thread].ops.push_back(i);
  for (auto& [id, thread] : threads) {
    std::ranges::sort(thread.ops, {}, [&](std::size_t i) {
      const KinetoOp& op = events.ops[i];
      return std::tuple(op.external, op.start, -op.end);
    });
    for (const std::size_t i : thread.ops) thread.names.push_back(events.ops[i].name);
  }
  return threads;
}

struct Observed {
  std::vector<std::int64_t> functions;
  Names names;
};

// Annotations, which are operators to the observer and not to Kineto, are left out.
std::map<std::int64_t, Observed> observed_threads(const std::vector<ObservedOperator>& observed,
                                                  const KinetoEvents& events) {
  std::unordered_map<std::string, std::int32_t> known;
  for (const KinetoOp& op : events.ops) known.try_emplace(events.names[static_cast<std::size_t>(op.name)], op.name);
  std::map<std::int64_t, Observed> threads;
  for (const ObservedOperator& one : observed) {
    const auto name = known.find(one.name);
    if (name == known.end()) continue;
    threads[one.thread].functions.push_back(one.function);
    threads[one.thread].names.push_back(name->second);
  }
  return threads;
}

}  // namespace

int join_by_order(const std::vector<ObservedOperator>& observed, KinetoEvents& events) {
  int joined = 0;
  const std::map<std::int64_t, Thread> threads = threads_of(events);
  for (const auto& [id, seen] : observed_threads(observed, events)) {
    const Thread* thread = nullptr;
    std::size_t place = 0, found = 0;
    for (const auto& [other, candidate] : threads)
      if (const auto at = only_place(seen.names, candidate.names)) thread = &candidate, place = *at, ++found;
    if (found != 1) continue;
    for (std::size_t i = 0; i < seen.functions.size(); ++i)
      events.ops[thread->ops[place + i]].function = seen.functions[i];
    ++joined;
  }
  return joined;
}

}  // namespace uvmsim
