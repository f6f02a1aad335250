// The fault hardware of one GPU and the kernel it runs: from CTAs to entries of the fault buffer.
//
// Mechanism (spec "how a GPU fills fault batches", section 2; every number is in FaultHardware):
//   * CTAs are dispatched in order, at most one per Pacing::dispatch, each to the slot that has been free for longest:
//     at first a slot of each SM in turn, later, of slots that came free at one time (after a replay), one on a random
//     SM. So SMs fault in different places, though none is delayed by chance.
//   * A step whose loads missed is followed by the next one `touch_latency` after they have come, others as Pacing
//     says: a warp does not wait for what it stores, but at its end. Of steps at one time those of the agent that has
//     gone on for longest without a load that missed come first. A replay reaches the groups up to `replay_skew` apart.
//   * A step's touches of granted pages cost nothing; every other touch is a request (page x warps) in the queue of its
//     SM. SM s belongs to group s mod groups (a GPC, or a TPC), of whose SMs each `sms_per_utlb` have a uTLB.
//   * A group takes requests while it has slots: a warp of one SM's front request, then one of the next SM's that has
//     any. Each holds a slot until the next replay; for a page for which its uTLB has an entry it writes none, where
//     uTLBs merge. A group without room waits for a replay.
//   * After a replay a warp that has pages of its own (an agent of a CTA of several) has `kTurnPages` in a turn, and
//     its group begins with an SM that looks random. Where warps touch more pages at once than that, each replay lets
//     an SM begin with another of those that wait, and SMs follow in order; else the next one looks random, too.
//     Source: validation/hardware/h200_vm, "A page per thread"; chosen by the counts that calibrate (DEVIATIONS).
//   * The GPU writes one entry per `entry_interval`, serving groups in the order in which they asked, each again
//     `group_interval` after its last one; the entry is visible `entry_latency` later.
//   * A replay frees all slots. Warps whose page has come go on, the others ask again, behind all that waits on their
//     SM; before it, if they write to a page that is mapped read-only. Where such writes ask again, SMs have turns,
//     too: so the records of an H200 (validation/hardware/h200_vm, read_mostly_write). An SM with
//     `refused_writes_per_sm` of them asks for nothing else until the replay.
//
// Events at one time happen in the order of `Kind`, then in the order in which they were scheduled.
// CTAs that differ in nothing but their number are one run (cta_runs.h), where the program says so
// (KernelProgram::in_runs): they are dispatched, wait, reach their steps and end together, as far as nothing else
// happens in between, and only those whose requests are admitted are treated one by one (fault_unit_runs.cpp). Times
// only matter between driver actions: call `advance(t)` before acting at t.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

#include "gpu/cta_runs.h"
#include "gpu/free_slots.h"
#include "gpu/kernel_program.h"
#include "gpu/pacing.h"
#include "gpu/page_table.h"
#include "gpu/ring.h"
#include "gpu/sm_set.h"
#include "gpu/step_queue.h"
#include "machine/machine.h"

namespace uvmsim {

// An entry of the replayable fault buffer. `visible`: when the driver can see it.
struct BufferedFault {
  Time visible{};
  PageNumber page{};
  std::uint16_t utlb = 0;
  bool write = false;

  void set(Time at, PageNumber of, std::uint16_t by, bool writes) {
    visible = at;
    page = of;
    utlb = by;
    write = writes;
  }
};

// Entries that the driver can see at `at`: the first ones of `buffer`.
std::size_t visible_at(const Ring<BufferedFault>& buffer, Time at);

// The uTLB of an SM, a number of its own on the GPU: SMs of a group share it, each `sms_per_utlb` in the order of their
// numbers; where it merges nothing, all of a group do.
inline std::uint16_t utlb_of(const FaultHardware& hw, std::uint32_t sm) {
  const auto groups = static_cast<std::uint32_t>(hw.utlb_groups);
  if (!hw.merges()) return static_cast<std::uint16_t>(sm % groups);
  return static_cast<std::uint16_t>(sm % groups + sm / groups / static_cast<std::uint32_t>(hw.sms_per_utlb) * groups);
}

// A number for what the n-th replay of a kernel does at an SM or a group of them: it looks random, and is the same on
// every machine, and whenever the kernel is launched again.
inline std::uint64_t replay_number(std::uint64_t replay, std::uint64_t place) {
  const std::uint64_t key = replay * 0x9e3779b97f4a7c15ULL + place * 0xbf58476d1ce4e5b9ULL;
  return (key ^ key >> 29) * 0x94d049bb133111ebULL;
}

// How much later it reaches a group: some eighths of `replay_skew`.
inline Duration replay_delay(const FaultHardware& hw, std::uint64_t replay, std::uint64_t group) {
  const std::uint64_t eighths = replay_number(replay, group) >> 61;
  return hw.replay_skew * static_cast<std::int64_t>(eighths) / 8;
}

// One of `choices` that it leads to at `place`.
inline std::uint32_t replay_choice(std::uint64_t replay, std::uint64_t place, std::uint64_t choices) {
  return static_cast<std::uint32_t>((replay_number(replay, place) >> 32) * choices >> 32);
}

// Which of `warps` warps that wait on an SM it begins with after it.
inline std::uint32_t first_warp_to_ask(std::uint64_t replay, std::uint64_t sm, std::uint64_t warps) {
  return replay_choice(replay, sm, warps);
}

// The same after each of `replays` in turn, every time behind the others what was before it: which of `runs` runs of
// requests that wait on `sm`, each of one warp, is first in the end. `ends_alike`: the first and the last are of the
// same warp, and one run as soon as another is first.
std::size_t first_run_to_ask(const std::vector<std::uint64_t>& replays, std::uint64_t sm, std::size_t runs,
                             bool ends_alike);

// Which of `sms` SMs, or the next one of the group that waits, a group begins with after it; and goes on with when one
// of them, `sm`, had its turn and `used` slots are taken.
inline std::uint32_t first_sm_to_ask(std::uint64_t replay, std::uint64_t group, std::uint64_t sms) {
  constexpr std::uint64_t kFirst = 1 << 16;
  return replay_choice(replay, kFirst + group, sms);
}
inline std::uint32_t next_sm_to_ask(std::uint64_t replay, std::uint32_t sm, std::uint64_t used, std::uint64_t sms) {
  constexpr std::uint64_t kNext = 2 << 16;
  return replay_choice(replay, kNext + sm + (used << 32), sms);
}

// Pages in a row that a warp has in a turn. Fitted to case family h200_vm_page_counts: 8 and 10 are alike, with 6 there
// are a fifth fewer batches.
inline constexpr int kTurnPages = 8;

// Whether a warp of `program`, which has pages of its own, touches more of them in one step than it has in a turn.
bool scatters(const KernelProgram& program, const std::vector<Touch>& touches);

// With so many stores on their way, in warps x pages, an agent waits for those of its next step. Assumed: it bounds the
// memory that a loop takes which fills its operand.
inline constexpr std::uint32_t kStoresAhead = 4096;

class FaultUnit {
 public:
  explicit FaultUnit(const GpuSpec& gpu);

  // Starts a kernel at `at`; the previous one must have ended. `program` and `pages` must outlive it.
  void launch(const KernelProgram& program, const PageTable& pages, Duration in_core, Time at);

  // The kernel has ended and its program may go: nothing happens until the next launch.
  void retire() { program_ = nullptr; }

  // Lets everything up to and including `until` happen.
  void advance(Time until);
  // Runs ahead until an entry is written or the kernel ends, at most to `limit`.
  void advance_to_fault(Time limit);

  // There is a kernel that may fault: to advance changes something.
  bool walks() const { return program_ != nullptr && !whole_; }

  // The kernel has ended, and when. Valid after `advance` or `advance_to_fault` got there.
  bool ended() const;
  Time end() const;

  // The driver is about to remove entries from the page table at `at`, or the right to write.
  void before_unmap(Time at);

  // The fault buffer, and removing from its front.
  const Ring<BufferedFault>& buffer() const { return buffer_; }
  void take(std::size_t entries, Time at);
  // A replay of all faults at `at`.
  void replay(Time at);
  // Nobody looks at what comes until the next `flush`, which takes all that is visible by then and returns how many
  // those were. Entries of rounds that are alike are not written, but dropped: so far `dropped` ones, all of them
  // visible by `dropped_by`, which an advance has reached.
  void discard() { discards_ = true; }
  std::size_t flush(Time at);
  std::size_t dropped() const { return dropped_; }
  Time dropped_by() const { return dropped_by_; }
  // No entry is written before the driver takes some.
  bool is_full() const { return buffer_.size() + dropped_ >= static_cast<std::size_t>(hw_.fault_buffer_entries); }

  Time now() const { return now_; }
  std::int64_t entries_written() const { return entries_written_; }
  // CTAs of the kernel that have ended, or started and found all their pages.
  std::int64_t passed() const { return next_cta_ - live_; }

  // --- for whoever remembers what it did (remembering_fault_unit.h)
  // From when on nothing happens before the driver does something, and nothing depends on when it does. kNever: so far
  // something will.
  Time quiet_since() const;
  // When `ended` became true; and when the last CTA ended, if a touch found its page missing.
  Time ended_at() const { return ended_at_; }
  std::optional<Time> last_end() const { return missed_ ? std::optional(last_end_) : std::nullopt; }
  // When the GPU may write another entry.
  Time next_entry() const { return next_entry_; }
  // Goes on, between two kernels, where another unit stopped.
  void resume(const Ring<BufferedFault>& buffer, Time next_entry);

 private:
  using AgentId = std::uint32_t;
  static constexpr std::uint32_t kNone = 0xffffffff;

  // Order of events at equal times.
  enum class Kind { Request, FirstStep, Step, RunStep, Dispatch, None };

  // Warps of an agent touch `pages` pages, page, page + stride, ..., one after the other: `left` of them still ask for
  // the first one, `warps` for each of the others.
  struct Request {
    PageNumber page{};
    AgentId agent = kNone;
    std::uint32_t pages = 1, stride = 1;
    std::uint16_t left = 0, warps = 0;
    bool write = false;
    bool waits = false;  // the agent does not go on before

    // `next` begins where it ends, and is of the same warps: it is a part of it now. False: it is not.
    bool append(const Request& next) {
      const bool follows = next.page == page + pages && next.agent == agent && next.warps == warps &&
                           next.write == write && next.waits == waits;
      if (!follows || stride != 1 || next.stride != 1) return false;
      pages += next.pages;
      return true;
    }
    // `n` pages need nobody to ask for them any more.
    void drop(std::uint32_t n) {
      page = page + n * stride;
      pages -= n;
      left = warps;
    }
  };
  struct Held {  // slots of a group that `warps` warps of an agent have, which touch `page`
    PageNumber page{};
    AgentId agent = kNone;
    std::uint16_t warps = 0;
    bool write = false, waits = false;
  };
  // What is behind the requests of an SM: a run of CTAs whose requests are still to be made, or a request that a replay
  // did not grant.
  struct Waiting {
    std::int64_t first = 0;     // CTA; page
    std::uint64_t missing = 0;  // see CtaRun; agent
    std::uint32_t count = 0;    // CTAs; warps
    std::uint16_t step = 0;
    bool is_request = false, write = false;
  };
  struct Sm {
    std::uint32_t group = 0;
    std::uint16_t utlb = 0;
    Ring<Request> queue;
    Ring<Waiting> behind;
    std::vector<Held> held;  // until the replay
    int refused = 0;         // of them, writes to pages that were read-only
    // Replays after which `queue` begins with another warp, and `requests` has not been asked for it: most let few SMs
    // ask.
    std::vector<std::uint64_t> replays;
  };
  struct Outstanding {  // a page for which a uTLB has written an entry
    PageNumber page{};
    std::uint16_t utlb = 0;
    friend bool operator==(const Outstanding&, const Outstanding&) = default;
  };
  struct Group {
    SmSet waiting;  // SMs of the group with requests
    std::vector<Outstanding> outstanding;
    std::uint32_t turn = 0;  // the SM that is asked first
    int in_turn = 0;         // pages that its warp had in this turn
    int used = 0;
    Time asks_again{};  // not before: its last entry is too young
    // The last so many SMs that had their turn asked for a page that is outstanding of their uTLB, and will again,
    // unless the page table has changed since that version.
    int repeat = 0;
    std::uint64_t repeat_version = 0;
    bool armed = false, asking = false, replayed = false;
    bool refused = false;  // the last replay left writes to read-only pages
  };
  struct Agent {
    std::int64_t step = 0, steps = 0;
    std::uint64_t streak = 0;               // see StepQueue::Event
    std::uint32_t pending = 0, stores = 0;  // warps x pages that it waits for, and that it does not
  };
  struct Slot {  // of a CTA that stalled
    std::int64_t cta = 0;
    int agents_left = 0;
    std::uint16_t sm = 0;
  };
  // What was looked up of a step, in order of CTAs: those from `first` on miss the same.
  struct KnownMisses {
    struct Run {
      std::int64_t first = 0;
      MissRun run;
      bool has(std::int64_t cta) const { return first <= cta && cta < run.outer; }
    };
    std::vector<Run> runs;
    std::size_t asked = 0;      // of `runs`: where the last look was that was not at the end
    std::uint64_t version = 0;  // of the page table; where it is the table's, there are runs
  };
  template <class Id>
  struct TimedEvent {
    Time time{};
    Id id{};
  };
  struct FirstStepEvent {
    Time time{};
    std::uint64_t order = 0;
    AgentId agent = 0;
    bool operator>(const FirstStepEvent& o) const { return time != o.time ? time > o.time : order > o.order; }
  };

  using StepRun = RunEvents<CtaRun>::Event;

  // --- events
  struct NextEvent {
    Time time = kNever;
    Kind kind = Kind::None;
    Time limit = kNever;  // no event of another kind comes before
    void consider(Time at, Kind of) {
      if (at < time) {
        limit = time;
        time = at;
        kind = of;
      } else {
        limit = std::min(limit, at);
      }
    }
  };
  NextEvent next_event() const;
  void run(Time until, bool stop_at_entry);
  void handle(const NextEvent& event);
  void note_end() {
    if (live_ == 0 && ended_at_ == kNever && next_cta_ == program_->ctas()) ended_at_ = now_;
  }
  void start_walk();

  // --- CTAs
  // When the next CTA starts; kNever: no slot will be free.
  Time next_start() const { return std::max(free_.next_time(), next_dispatch_); }
  void set_starts(FreeSlots::Run& next) const;
  Group& group_of(std::uint32_t sm) { return groups_[sms_[sm].group]; }
  void dispatch(Time t, Time limit);
  void start_cta(std::int64_t cta, std::uint16_t sm, Time t);
  std::uint32_t take_slot(std::int64_t cta, std::uint16_t sm);
  bool stalls(std::int64_t cta);
  void step_agent(AgentId id, Time t);
  void step_resolved(AgentId id, Time t, bool late);
  std::int64_t hits_ahead(const Agent& agent, std::int64_t cta, int index) const;
  int index_of(AgentId id, std::uint32_t slot) const {
    return static_cast<int>(id - slot * static_cast<AgentId>(program_->agents()));
  }
  std::uint32_t slot_of(AgentId id) const {
    return program_->agents() == 1 ? id : id / static_cast<AgentId>(program_->agents());
  }
  void agent_ended(AgentId id, Time end, bool late);
  void resolve(AgentId id, std::uint32_t warps, bool waits, Time t);

  // --- runs of CTAs
  void dispatch_runs(Time t, Time limit);
  Time dispatch_run(Time limit, Time known);
  bool starts_ahead();
  void take_back_starts();
  Time quiet_until(Time start);
  void step_runs(Time limit);
  Time step_run(Time limit);
  void reach_step(StepRun& step, Follows what);
  void run_resolved(StepRun& step, Follows what);
  bool resolve_waiting(std::uint32_t sm, Time t);
  void make_agent(std::uint32_t sm);
  // What `cta` misses now in a step, and up to where others miss the same.
  const MissRun& misses(std::int64_t cta, std::int64_t step) {
    KnownMisses& known = known_misses_[static_cast<std::size_t>(step)];
    if (known.version == pages_->version()) {
      if (known.runs.back().has(cta)) return known.runs.back().run;
      if (known.runs[known.asked].has(cta)) return known.runs[known.asked].run;
    }
    return find_misses(known, cta, step);
  }
  const MissRun& find_misses(KnownMisses& known, std::int64_t cta, std::int64_t step);
  EventOrder new_streaks(Time t, std::int64_t n, Follows what);
  bool takes_requests(const Group& group) const {
    return !group.armed && !group.asking && group.used < hw_.slots_per_group;
  }

  // --- CTAs that miss nothing
  // The next CTAs, up to stall_run_.first, miss nothing: dispatches them before `limit` without looking at anything
  // else.
  void glide(Time limit);
  bool repeats_since_mark() const;
  void mark();
  void jump(Time limit);

  // --- requests
  void enqueue_missing(std::uint32_t sm, AgentId agent, const Touch& touch, bool waits);
  void ask_again(std::uint32_t sm, const Held& held);
  // The group goes on at `t`, where it can.
  void arm(std::uint32_t group, Time t) {
    const Group& g = groups_[group];
    if (takes_requests(g) && (!g.waiting.empty() || g.replayed)) schedule_drain(group, std::max(t, g.asks_again));
  }
  void schedule_drain(std::uint32_t group, Time t);
  bool merges(const Group& group, const Request& request, std::uint32_t sm) const;
  void drain_next();
  void drain(std::uint32_t group, Time t);
  void settle_replayed(std::uint32_t group, Time t);
  static bool has_requests(const Sm& sm) { return !sm.queue.empty() || !sm.behind.empty(); }
  bool is_stalled(const Sm& sm) const {
    return hw_.refused_writes_per_sm > 0 && sm.refused >= hw_.refused_writes_per_sm;
  }
  bool has_turns(const Group& group) const { return group.refused || (program_->agents() > 1 && replays_ > 0); }
  void end_turn(Group& group, std::uint32_t sm);
  static AgentId next_warp(const Sm& sm);
  void begin_with_another(std::uint32_t sm);
  void reorder(std::uint32_t sm);
  // What waits on `sm`, in the order in which it is asked.
  Ring<Request>& requests(std::uint32_t sm) {
    if (!sms_[sm].replays.empty()) reorder(sm);
    return sms_[sm].queue;
  }
  const Request* front_missing(std::uint32_t sm, Time t);
  void wait_on(std::uint32_t sm);
  void hold(Group& group, std::uint32_t sm);
  bool hold_rounds(Group& group);
  void hold_slots(Group& group, std::uint32_t sm, std::uint16_t warps);
  void ask(std::uint32_t group, Time t);
  void schedule_entry(Time t);
  // When a group asks, or an entry is written; of both at one time the group is first.
  Time next_request() const {
    return std::min(drains_.empty() ? kNever : drains_.front().time, entry_pending_ ? entry_time_ : kNever);
  }
  void handle_requests(Time limit);
  void write_entry(Time t);
  bool drop_rounds(Time limit);
  bool find_turns();
  std::int64_t certain_rounds(Time limit) const;
  void pass_rounds(std::int64_t rounds);
  std::int64_t certain_turns(const Group& group, std::int64_t most) const;
  void hold_turns(Group& group, std::int64_t turns);

  // --- hardware and kernel
  FaultHardware hw_;
  GpuSpec gpu_;
  Pacing pacing_;
  const KernelProgram* program_ = nullptr;
  const PageTable* pages_ = nullptr;
  Time launched_{};

  // --- CTA state
  std::int64_t next_cta_ = 0;
  std::int64_t live_ = 0;  // CTAs that stalled and have not ended
  Time last_end_{};        // latest end of a CTA so far
  Time next_dispatch_{};   // earliest start of the next CTA
  StallRun stall_run_;     // valid while pages_->version() == stall_version_
  std::uint64_t stall_version_ = 0;
  std::vector<KnownMisses> known_misses_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> spare_slots_;  // of slots_
  std::vector<Agent> agents_;               // slot * agents per CTA + agent
  FreeSlots free_;

  // --- pending events, each queue in order of time
  Ring<TimedEvent<std::uint16_t>> drains_;
  StepQueue steps_;
  RunEvents<CtaRun> run_steps_;
  std::uint64_t streaks_ = 0;
  std::uint64_t ahead_version_ = 0;  // of the page table that they saw
  Time settled_{};                   // all that happens until then has happened
  std::priority_queue<FirstStepEvent, std::vector<FirstStepEvent>, std::greater<>> first_steps_;
  std::uint64_t first_step_order_ = 0;

  // A moment of a glide, to recognise when it repeats (Brent's cycle detection over rounds of the slots).
  struct Mark {
    Time at{};
    std::int64_t next_cta = 0;
    Duration next_dispatch{};
    std::vector<FreeSlots::Run> running;               // relative to `at`
    std::int64_t ctas = 0, rounds = 0, next_mark = 1;  // since the glide began
  };
  Mark mark_;

  // --- requests
  std::vector<Group> groups_;
  std::vector<Sm> sms_;
  Ring<std::uint16_t> asking_;
  Time entry_time_{}, next_entry_{};
  Ring<BufferedFault> buffer_;
  std::int64_t entries_written_ = 0;  // and dropped
  std::size_t dropped_ = 0;
  Time dropped_by_{};
  Time until_{};                        // of the advance
  std::vector<std::uint16_t> in_turn_;  // see find_turns

  std::uint64_t replays_ = 0;  // of the kernel
  bool scattered_ = false;     // some warp of it touched more pages at once than it has in a turn
  Time now_{};
  Time last_event_{};  // when the last thing happened by itself
  Time ended_at_ = kNever;
  std::vector<Touch> touches_;
  std::vector<std::size_t> starts_;  // see reorder

  bool whole_ = false;   // nothing faults: the kernel is over at launched_ + duration, no state kept
  bool missed_ = false;  // a touch of this launch found its page missing
  bool looks_once_ = true, in_runs_ = false;  // of the program
  bool ahead_ = false;                        // CTAs whose first step hits start ahead of time
  bool entry_pending_ = false;
  bool discards_ = false;
};

}  // namespace uvmsim
