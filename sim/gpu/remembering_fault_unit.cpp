#include "gpu/remembering_fault_unit.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/scramble.h"

namespace uvmsim {

RememberingFaultUnit::RememberingFaultUnit(const GpuSpec& gpu, WalkMemory* memory)
    : hw_(gpu.fault), walker_(gpu), memory_(gpu.fault.fault_buffer_entries > 1 ? memory : nullptr) {
  if (memory_ != nullptr) kind_ = memory_->kind_of(gpu);
}

// --- the kernel

void RememberingFaultUnit::launch(const KernelProgram& program, PageTable& pages, Duration in_core, Time at) {
  catch_up();
  if (!recalls_) {
    buffer_ = walker_.buffer();
    next_entry_ = walker_.next_entry();
  }
  program_ = &program;
  pages_ = &pages;
  in_core_ = in_core;
  launched_ = since_ = at;
  settled_ = at - Duration{1};
  passed_ = 0;
  known_ = nullptr;
  start_ = {};
  if (memory_ != nullptr && program.likeness() != 0 && has_room_for(0) && !program.all_granted(pages)) {
    granted_ = granted_sum(pages, program.ranges());
    start_ = {kind_, program.likeness(), granted_, in_core, std::max(Duration{0}, next_entry_ - at)};
    known_ = memory_->find(start_);
    enter(KnownWalks::kRoot, at);
  }
  const bool walked = !recalls_;
  recalls_ = known_ != nullptr && walker_.dropped() == 0 && stretch().knows(Duration{0});
  if (recalls_) {
    buffer_at_launch_ = buffer_;
    next_entry_at_launch_ = next_entry_;
    actions_.clear();
    writes_.clear();
    at_launch_.clear();
    return;
  }
  if (!walked) walker_.resume(buffer_, next_entry_);
  if (discards_) walker_.discard();
  walker_.launch(program, pages, in_core, at);
  recorded_ = walker_.entries_written();
  recorded_dropped_ = walker_.dropped();
}

void RememberingFaultUnit::retire() {
  catch_up();
  if (start_.program != 0 && !recalls_) memory_->settle(start_);
  known_ = nullptr;
  program_ = nullptr;
  pages_ = nullptr;
  walker_.retire();
}

bool RememberingFaultUnit::ended() const {
  if (!recalls_) return walker_.ended();
  return program_ == nullptr || (stretch().ended != kNever && since_ + stretch().ended <= settled_);
}

Time RememberingFaultUnit::end() const {
  if (!recalls_) return walker_.end();
  const Time in_core = launched_ + in_core_;
  return stretch().last_end != kNever ? std::max(in_core, since_ + stretch().last_end) : in_core;
}

// --- time

void RememberingFaultUnit::advance(Time until) {
  if (recalls_) {
    behind_ = behind_ || puts_off(until);
    if (program_ == nullptr || (knows(until) && (behind_ || recall(until, false)))) {
      settled_ = std::max(settled_, until);
      return;
    }
    walk();
  }
  walker_.advance(until);
  record(until);
}

void RememberingFaultUnit::advance_to_fault(Time limit) {
  if (recalls_) {
    const Time next = ended() ? settled_ : next_known();
    const bool comes = next != kNever && next <= limit;
    if (comes ? recall(next, true) : knows(limit)) {
      if (comes) settled_ = std::max(settled_, next);
      return;
    }
    walk();
    if (mark_) mark();
  }
  walker_.advance_to_fault(limit);
  const bool stopped = walker_.entries_written() != recorded_ || walker_.ended();
  record(stopped ? walker_.now() - Duration{1} : limit);
}

void RememberingFaultUnit::mark() {
  UVMSIM_CHECK(!behind_, "a look-ahead begins while entries are thrown away");
  mark_ = {place_, recorded_, settled_, next_entry_, walks()};
  if (walks()) marked_walker_ = walker_;
}

void RememberingFaultUnit::go_back() {
  place_ = mark_->place;
  recorded_ = mark_->recorded;
  settled_ = mark_->settled;
  next_entry_ = mark_->next_entry;
  UVMSIM_CHECK(mark_->walker == walks(), "a kernel was walked since the look-ahead");
  if (recalls_) buffer_.clear();
  if (mark_->walker) walker_ = *marked_walker_;
  mark_.reset();
}

// --- a kernel that is recalled

// The next entry or the end of the kernel, if one is known.
Time RememberingFaultUnit::next_known() {
  const KnownWalks::Entry* entry = known_->look(stretch_, place_);
  const Duration next = std::min(entry != nullptr ? entry->at : kNever, stretch().ended);
  const bool is_next = passed_dropped_ || next < stretch().dropped_from;
  return next == kNever || !is_next ? kNever : since_ + next;
}

// Writes the entries up to and including `until`, or only the next one. False: the buffer is full, and nothing known of
// what follows.
bool RememberingFaultUnit::recall(Time until, bool one) {
  const std::vector<PageRange>& ranges = program_->ranges();
  const std::size_t room = static_cast<std::size_t>(hw_.fault_buffer_entries) - buffer_.size();
  Time at{};  // of the last one
  const auto write = [&](const KnownWalks::Entry& entry) {
    at = since_ + entry.at;
    buffer_.push().set(at + hw_.entry_latency, ranges[entry.range].first + entry.page, entry.utlb, entry.write);
  };
  if (known_->pass_until(stretch_, place_, until - since_, one ? 1 : room, write) == 0) return true;
  settled_ = at;
  next_entry_ = at + hw_.entry_interval;
  return has_room_for(0);
}

// Whether entries up to `until` need not be written until the flush: it throws away those that can be seen then, and
// there is room for the others.
bool RememberingFaultUnit::puts_off(Time until) const {
  if (!discards_ || program_ == nullptr || !stretch().knows(until - since_, true)) return false;
  return has_room_for(stretch().end.passed - place_.passed + stretch().dropped);
}

// Writes those that were put off.
void RememberingFaultUnit::catch_up() {
  if (!std::exchange(behind_, false)) return;
  const Time until = settled_;
  if (knows(until)) {
    recall(until, false);
    settled_ = until;
  } else {
    walk();
    walker_.advance(until);
    record(until);
  }
}

// Walks the kernel after all, up to what was done to it last and the entries that are written.
void RememberingFaultUnit::walk() {
  behind_ = false;
  for (const auto& [frame, entries] : at_launch_) pages_->set_entries(FrameIndex{frame}, entries);
  walker_.resume(buffer_at_launch_, next_entry_at_launch_);
  walker_.launch(*program_, *pages_, in_core_, launched_);
  for (const Action& action : actions_) {
    walker_.advance(action.at);
    switch (action.what) {
      case Did::Write:
        if (writes_[action.number].removes()) walker_.before_unmap(action.at);
        writes_[action.number].apply(*pages_);
        break;
      case Did::Take:
        walker_.take(action.number, action.at);
        break;
      case Did::Replay:
        walker_.replay(action.at);
        break;
    }
  }
  while (walker_.buffer().size() < buffer_.size()) walker_.advance_to_fault(settled_);
  recorded_ = walker_.entries_written();
  recorded_dropped_ = walker_.dropped();
  was_dropped_ = stretch().dropped > 0;
  recalls_ = false;
  if (discards_) walker_.discard();
}

// --- a kernel that is walked

// Everything up to `known` has happened.
void RememberingFaultUnit::record(Time known) {
  if (known_ == nullptr) return;
  const Ring<BufferedFault>& buffer = walker_.buffer();
  const std::size_t dropped = walker_.dropped() - recorded_dropped_;
  const auto written = static_cast<std::size_t>(walker_.entries_written() - recorded_) - dropped;
  recorded_ = walker_.entries_written();
  recorded_dropped_ = walker_.dropped();
  KnownWalks::Stretch& s = (*known_)[stretch_];
  if (was_dropped_ && known - since_ >= s.dropped_from) return;
  if (dropped > 0 && !record_dropped(dropped, written)) {
    known_ = nullptr;
    return;
  }
  for (std::size_t i = buffer.size() - written; i < buffer.size(); ++i) record(buffer[i]);
  if (walker_.is_full()) {  // what follows depends on when the driver takes entries
    s.known = std::max(s.known, walker_.next_entry() - hw_.entry_interval - since_ - Duration{1});
    known_ = nullptr;
    return;
  }
  s.known = std::max(s.known, known - since_);
  if (const Time quiet = walker_.quiet_since(); quiet != kNever)
    s.quiet = std::min(s.quiet, std::max(Duration{0}, quiet - since_));
  if (s.ended == kNever && walker_.ended()) {
    s.ended = std::max(Duration{0}, walker_.ended_at() - since_);
    if (const std::optional<Time> last = walker_.last_end()) s.last_end = *last - since_;
  }
  if (known_->bytes() > memory_->most_of_one()) known_ = nullptr;
}

// Counts `dropped` entries, the last of `dropped` + `written` new ones, at the end of the stretch, or passes them
// where another walk of the kernel has written them already. False: it wrote some, and which is not known.
bool RememberingFaultUnit::record_dropped(std::size_t dropped, std::size_t written) {
  KnownWalks::Stretch& s = (*known_)[stretch_];
  const std::uint32_t ahead = s.end.passed - place_.passed;  // entries of this stretch that another walk wrote
  if (ahead > 0) {
    if (ahead < dropped + written) return false;
    known_->pass_until(stretch_, place_, kNever, dropped, [](const KnownWalks::Entry&) {});
  } else {
    s.dropped += static_cast<std::uint32_t>(dropped);
    s.dropped_from = std::min(s.dropped_from, s.known + Duration{1});
    s.dropped_by = walker_.dropped_by() - since_;
  }
  return true;
}

void RememberingFaultUnit::record(const BufferedFault& fault) {
  if (known_->look(stretch_, place_) != nullptr) return KnownWalks::pass(place_);
  const std::vector<PageRange>& ranges = program_->ranges();
  const auto range = std::ranges::find_if(ranges, [&](const PageRange& r) { return r.contains(fault.page); });
  UVMSIM_CHECK(range != ranges.end(), "a program touches pages of no operand");
  known_->write(stretch_, place_,
                {fault.visible - hw_.entry_latency - since_, fault.page - range->first,
                 static_cast<std::uint32_t>(range - ranges.begin()), fault.utlb, fault.write});
}

// --- the driver's side

std::size_t RememberingFaultUnit::visible(Time at) const {
  UVMSIM_CHECK(!behind_, "entries are looked at that are thrown away");
  return visible_at(buffer(), at);
}

void RememberingFaultUnit::take(std::size_t entries, Time at) {
  if (!recalls_) return walker_.take(entries, at);
  UVMSIM_CHECK(entries <= buffer_.size(), "the driver read past PUT");
  buffer_.pop(entries);
  if (program_ != nullptr && entries > 0) actions_.push_back({Did::Take, at, entries});
}

void RememberingFaultUnit::discard() {
  discards_ = true;
  if (!recalls_) walker_.discard();
}

std::size_t RememberingFaultUnit::flush(Time at) {
  std::size_t unwritten = 0;
  if (behind_) {
    const KnownWalks::Stretch& s = stretch();
    const Duration seen = std::max(s.end.last.at + hw_.entry_latency, s.dropped_by);
    if (since_ + seen <= at) {
      behind_ = false;
      unwritten = s.end.passed - place_.passed + s.dropped;
      if (unwritten > 0) next_entry_ = since_ + seen - hw_.entry_latency + hw_.entry_interval;
      place_ = s.end;
      passed_dropped_ = true;
    }
    catch_up();
  }
  discards_ = false;
  if (!recalls_) {
    recorded_dropped_ = 0;
    return walker_.flush(at);
  }
  const std::size_t written = visible(at);
  buffer_.pop(written);
  if (program_ != nullptr && written + unwritten > 0) actions_.push_back({Did::Take, at, written + unwritten});
  return written + unwritten;
}

void RememberingFaultUnit::replay(Time at) {
  if (!recalls_) walker_.replay(at);
  if (known_ != nullptr && !ended()) {
    if (recalls_) actions_.push_back({Did::Replay, at, 0});
    go_on(Did::Replay, at);
  }
  if (program_ != nullptr) passed_ = ended() ? program_->ctas() : recalls_ ? stretch().passed : walker_.passed();
}

void RememberingFaultUnit::map(PageTable& pages, FrameIndex frame, const PageMask& mask, bool writable, bool remote,
                               Time at) {
  write(pages, {frame, mask, true, writable, remote}, at);
}

void RememberingFaultUnit::unmap(PageTable& pages, FrameIndex frame, const PageMask& mask, Time at) {
  write(pages, {frame, mask}, at);
}

void RememberingFaultUnit::write(PageTable& pages, const Write& write, Time at) {
  if (!recalls_ && &pages == pages_ && write.removes()) walker_.before_unmap(at);
  if (known_ == nullptr || &pages != pages_ || !concerns(write.frame) || ended()) return write.apply(pages);
  if (recalls_) {
    at_launch_.try_emplace(write.frame.value, pages.entries(write.frame));
    actions_.push_back({Did::Write, at, writes_.size()});
    writes_.push_back(write);
  }
  const std::uint64_t before = granted_sum(pages, program_->ranges(), write.frame);
  write.apply(pages);
  const std::uint64_t after = granted_sum(pages, program_->ranges(), write.frame);
  granted_ += after - before;
  // Where nothing is about to happen, it is the next replay that finds what has changed.
  if (after != before && !is_quiet(at)) go_on(Did::Write, at);
}

bool RememberingFaultUnit::concerns(FrameIndex frame) const {
  return std::ranges::any_of(program_->ranges(), [&](const PageRange& range) {
    return frame_of(range.first) <= frame && frame <= frame_of(range.outer - 1);
  });
}

bool RememberingFaultUnit::is_quiet(Time at) const {
  return stretch().quiet != kNever && at - since_ >= stretch().quiet;
}

// The driver did something at `at` on which it depends how the kernel goes on: another stretch begins.
void RememberingFaultUnit::go_on(Did what, Time at) {
  catch_up();
  const Duration after = is_quiet(at) ? Duration{-1} : at - since_;
  const std::uint64_t action =
      SequenceHash().add(static_cast<std::int64_t>(what)).add(after.count()).add(granted_).value();
  std::optional<std::uint32_t> next = known_->after(stretch_, action);
  if (!next) {
    if (recalls_) walk();
    next = known_->add(stretch_, action);
    (*known_)[*next].passed = walker_.passed();
  }
  enter(*next, at);
}

void RememberingFaultUnit::enter(std::uint32_t stretch, Time at) {
  stretch_ = stretch;
  was_dropped_ = (*known_)[stretch].dropped > 0;
  passed_dropped_ = false;
  since_ = at;
  settled_ = at - Duration{1};
  place_ = {};
}

}  // namespace uvmsim
