// Entries that nobody looks at: between the fetch of a batch and a flush that throws away what came since. Where every
// request writes an entry, most entries are of this kind.
#include <algorithm>
#include <utility>

#include "gpu/fault_unit.h"

namespace uvmsim {

std::size_t FaultUnit::flush(Time at) {
  const std::size_t dropped = std::exchange(dropped_, 0);  // before `take`, which looks whether there is room
  const std::size_t seen = visible_at(buffer_, at);
  take(seen, at);
  discards_ = false;
  return seen + dropped;
}

// Groups write entries in turn, and each asks again before its next turn comes: as many rounds as are certain to go on
// like this before `limit`, and to be visible at the end of this advance, leave only slots that are taken. False: none
// is.
bool FaultUnit::drop_rounds(Time limit) {
  if (!entry_pending_ || hw_.merges() || !find_turns()) return false;
  const std::int64_t rounds = certain_rounds(limit);
  if (rounds <= 0) return false;
  pass_rounds(rounds);
  return true;
}

// Which groups write in turn, from the next entry on: those that ask, then those that will. False: another one may come
// in between.
bool FaultUnit::find_turns() {
  in_turn_.clear();
  if (std::ranges::any_of(groups_, [this](const Group& g) { return has_turns(g); })) return false;
  for (std::size_t i = 0; i < asking_.size(); ++i) in_turn_.push_back(asking_[i]);
  for (std::size_t i = 0; i < drains_.size(); ++i) {
    const Group& g = groups_[drains_[i].id];
    const Duration turn = hw_.entry_interval * static_cast<std::int64_t>(in_turn_.size());
    const Time asks = entry_time_ + std::min(turn, hw_.group_interval);  // before it, and before the first one again
    if (g.replayed || g.waiting.empty() || drains_[i].time > asks) return false;
    in_turn_.push_back(drains_[i].id);
  }
  return true;
}

std::int64_t FaultUnit::certain_rounds(Time limit) const {
  const auto groups = static_cast<std::int64_t>(in_turn_.size());
  const Duration round = hw_.entry_interval * groups;
  if (round < hw_.group_interval || round.count() == 0) return 0;
  const Time last = std::min(limit - Duration{1}, until_ - hw_.entry_latency);
  const auto room = hw_.fault_buffer_entries - static_cast<std::int64_t>(buffer_.size() + dropped_);
  std::int64_t rounds = std::min((last - entry_time_) / round, room / groups - 1);
  for (std::size_t i = 0; i < in_turn_.size() && rounds > 0; ++i) rounds = certain_turns(groups_[in_turn_[i]], rounds);
  return rounds;
}

void FaultUnit::pass_rounds(std::int64_t rounds) {
  const auto groups = static_cast<std::int64_t>(in_turn_.size());
  const Time first = entry_time_ + hw_.entry_interval * groups * (rounds - 1);  // of the last round
  now_ = first + hw_.entry_interval * (groups - 1);
  next_entry_ = now_ + hw_.entry_interval;
  dropped_by_ = now_ + hw_.entry_latency;
  entries_written_ += rounds * groups;
  dropped_ += static_cast<std::size_t>(rounds * groups);
  asking_.clear();
  drains_.clear();
  for (std::size_t i = 0; i < in_turn_.size(); ++i) {
    Group& g = groups_[in_turn_[i]];
    hold_turns(g, rounds);
    g.asks_again = first + hw_.entry_interval * static_cast<std::int64_t>(i) + hw_.group_interval;
    g.asking = g.asks_again <= now_;
    g.armed = !g.asking;
    if (g.asking) {
      g.turn = g.waiting.next(g.turn);
      asking_.push(in_turn_[i]);
    } else {
      drains_.push({g.asks_again, in_turn_[i]});
    }
  }
  entry_pending_ = !asking_.empty();
  entry_time_ = next_entry_;
}

// How many turns of the group, up to `most`, are certain to find a page missing, and to leave a slot and a request.
std::int64_t FaultUnit::certain_turns(const Group& group, std::int64_t most) const {
  std::int64_t turns = std::min<std::int64_t>(most, hw_.slots_per_group - group.used - 1);
  const std::int64_t sms = group.waiting.size();
  group.waiting.for_each([&](std::uint32_t sm) {
    const Sm& s = sms_[sm];
    const std::int64_t enough = turns / sms + 2;
    std::int64_t warps = 0;
    for (std::size_t i = 0; s.replays.empty() && i < s.queue.size() && warps < enough; ++i) {
      const Request& r = s.queue[i];
      std::uint32_t missing = pages_->missing_run(r.page, r.stride, r.pages, r.write);
      if (r.write && hw_.refused_writes_per_sm > 0)  // those that may stall it are not counted
        missing = std::min(missing, pages_->missing_run(r.page, r.stride, r.pages, false));
      if (missing > 0) warps += r.left + static_cast<std::int64_t>(missing - 1) * r.warps;
      if (missing < r.pages) break;
    }
    turns = std::min(turns, sms * std::max<std::int64_t>(0, warps - 1));
  });
  return turns;
}

// A warp of each SM in turn takes a slot, so many times.
void FaultUnit::hold_turns(Group& group, std::int64_t turns) {
  const std::int64_t sms = group.waiting.size();
  std::uint32_t sm = group.waiting.next(group.turn);
  for (std::int64_t i = 0; i < sms; ++i) {
    std::int64_t left = turns / sms + (i < turns % sms ? 1 : 0);
    if (left > 0 && i == (turns - 1) % sms) group.turn = sm + 1 == sms_.size() ? 0 : sm + 1;
    const std::uint32_t next = group.waiting.next(sm + 1 == sms_.size() ? 0 : sm + 1);
    while (left > 0) {
      const auto warps = std::min<std::int64_t>(left, sms_[sm].queue.front().left);
      hold_slots(group, sm, static_cast<std::uint16_t>(warps));
      left -= warps;
    }
    sm = next;
  }
}

}  // namespace uvmsim
