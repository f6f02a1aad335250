#include "trace/communicators.h"

#include <algorithm>
#include <array>
#include <compare>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

namespace uvmsim::trace {
namespace {

constexpr std::array<std::string_view, 7> kNames = {"all-reduce", "reduce-scatter", "all-gather", "broadcast",
                                                    "all-to-all", "send",           "receive"};

std::string number(auto value) { return std::to_string(value); }

std::string text(const CollectiveOp& c) {
  return std::string(kNames[static_cast<std::size_t>(c.kind)]) + " of " + number(c.bytes) + " bytes";
}

using Operations = std::vector<const CollectiveOp*>;

class Communicators {
 public:
  Communicators(const Trace& trace, int replicas) : replicas_(replicas) {
    for (const Record& record : trace.records)
      if (const auto* c = std::get_if<CollectiveOp>(&record)) add(*c);
  }

  std::vector<std::string> errors() {
    for (const auto& [id, devices] : members_) check_members(id, devices);
    for (const auto& [id, pair] : pairs_) std::apply([&, &p = pair](auto... at) { check_pair(at..., p); }, id);
    return std::move(errors_);
  }

 private:
  struct Id {
    std::int32_t communicator, ranks, stride;
    friend auto operator<=>(const Id&, const Id&) = default;
  };
  using Member = std::pair<const std::int8_t, Operations>;
  struct Pair {
    Operations sends, receives;
  };

  void add(const CollectiveOp& c) {
    if (c.peer < 0) return members_[{c.communicator, c.ranks, c.stride}][c.device].push_back(&c);
    const bool sends = c.kind == Collective::Send;
    Pair& pair = pairs_[{c.communicator, sends ? c.device : c.peer, sends ? c.peer : c.device}];
    (sends ? pair.sends : pair.receives).push_back(&c);
    with_peer_ = true;
  }

  void check_members(const Id& id, const std::map<std::int8_t, Operations>& devices) {
    const auto [communicator, ranks, stride] = id;
    const std::string name = "communicator " + number(communicator);
    const auto members = static_cast<std::int64_t>(devices.size()) * replicas_;
    const std::int64_t together = std::max<std::int64_t>(ranks, 1) * stride;
    if (members > (ranks > 0 ? ranks : stride) && members % together != 0)
      errors_.push_back(name + ": " + number(members) + " GPUs take part, which make no groups of " +
                        (ranks > 0 ? number(ranks) + " ranks" : "ranks") +
                        (stride > 1 ? " at a stride of " + number(stride) : ""));
    if (devices.size() < 2) return;
    std::int64_t place = 0;
    std::map<std::int64_t, const Member*> first;  // of each group
    for (const Member& member : devices) {
      for (const CollectiveOp* c : member.second)
        if (c->kind == Collective::Send || c->kind == Collective::Receive) {
          errors_.push_back(name + ": " + text(*c) + " on device " + number(member.first) + " names no peer");
          break;
        }
      const auto [known, fresh] = first.try_emplace(group_of(place, ranks, stride), &member);
      if (!fresh) check_same(name, *known->second, member);
      ++place;
    }
  }

  void check_same(const std::string& name, const Member& a, const Member& b) {
    const auto agree = [](const CollectiveOp* x, const CollectiveOp* y) {
      return x->kind == y->kind && (x->bytes == y->bytes || x->kind == Collective::AllToAll);
    };
    const auto [x, y] = std::ranges::mismatch(a.second, b.second, agree);
    if (x == a.second.end() && y == b.second.end()) return;
    const std::string one = "device " + number(a.first), other = "device " + number(b.first);
    if (x == a.second.end() || y == b.second.end())
      errors_.push_back(name + ": " + one + " takes part " + number(a.second.size()) + " times, " + other + " " +
                        number(b.second.size()) + " times");
    else
      errors_.push_back(name + ": collective " + number(x - a.second.begin()) + " is: " + text(**x) + " on " + one +
                        ", " + text(**y) + " on " + other);
  }

  void check_pair(std::int32_t communicator, std::int8_t from, std::int8_t to, const Pair& pair) {
    const std::string name = "communicator " + number(communicator);
    const std::string one = "device " + number(from), other = "device " + number(to);
    if (replicas_ > 1) {
      if (std::exchange(with_peer_, false))
        errors_.push_back(name + ": " + one + " sends to " + other +
                          ", but replicas have one device each: a trace with peers runs in one process");
      return;
    }
    if (pair.sends.size() != pair.receives.size())
      errors_.push_back(name + ": " + one + " sends " + number(pair.sends.size()) + " times to " + other +
                        ", which receives " + number(pair.receives.size()) + " times from it");
    const auto [send, receive] = std::ranges::mismatch(
        pair.sends, pair.receives, [](const CollectiveOp* x, const CollectiveOp* y) { return x->bytes == y->bytes; });
    if (send != pair.sends.end() && receive != pair.receives.end())
      errors_.push_back(name + ": send " + number(send - pair.sends.begin()) + " from " + one + " to " + other +
                        " has " + number((*send)->bytes) + " bytes, its receive " + number((*receive)->bytes));
  }

  const int replicas_;
  bool with_peer_ = false;  // somebody names one, and it was not reported
  std::map<Id, std::map<std::int8_t, Operations>> members_;
  std::map<std::tuple<std::int32_t, std::int8_t, std::int8_t>, Pair> pairs_;
  std::vector<std::string> errors_;
};

}  // namespace

std::vector<std::string> collective_errors(const Trace& trace, int replicas) {
  return Communicators(trace, replicas).errors();
}

}  // namespace uvmsim::trace
