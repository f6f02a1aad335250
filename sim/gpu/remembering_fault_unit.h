// The fault hardware of one GPU, which remembers what it did: a kernel that starts like one before, and is served
// alike, is not walked again, but recalled, to the picosecond. When the driver does what it did not do before, the
// kernel is walked from its launch up to there, and from there on.
//
// All that acts on a kernel goes through it: launches, page-table writes, what the driver takes, replays; in the order
// of their times, and after `advance` to each.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "gpu/fault_unit.h"
#include "gpu/walk_memory.h"

namespace uvmsim {

class RememberingFaultUnit {
 public:
  // `memory`: of all GPUs; nullptr: it remembers nothing. It must outlive the unit.
  RememberingFaultUnit(const GpuSpec& gpu, WalkMemory* memory);

  // From now on it remembers nothing.
  void forget() { memory_ = nullptr; }

  // As in FaultUnit.
  void launch(const KernelProgram& program, PageTable& pages, Duration in_core, Time at);
  void retire();
  void advance(Time until);
  void advance_to_fault(Time limit);
  bool ended() const;
  Time end() const;
  const Ring<BufferedFault>& buffer() const { return recalls_ ? buffer_ : walker_.buffer(); }
  void take(std::size_t entries, Time at);
  void replay(Time at);
  // Nobody looks at what comes until the next `flush`, which takes all that the driver can see then, and returns how
  // many those were. A kernel that is recalled does not write them first.
  void discard();
  std::size_t flush(Time at);
  // FaultUnit::passed, when the last replay came.
  std::int64_t passed() const { return passed_; }
  Time now() const { return recalls_ ? settled_ : walker_.now(); }

  // A look-ahead begins, with an empty fault buffer; as long as the driver has done nothing, it can be taken back.
  void mark();
  void go_back();

  // Entries of the fault buffer that the driver can see at `at`.
  std::size_t visible(Time at) const;
  // Page-table entries are written at `at`, be it in the kernel's page table or in another.
  void map(PageTable& pages, FrameIndex frame, const PageMask& mask, bool writable, bool remote, Time at);
  void unmap(PageTable& pages, FrameIndex frame, const PageMask& mask, Time at);

  // The kernel is recalled, so far.
  bool recalls() const { return recalls_; }

 private:
  // What the driver did to the kernel: a write of its page table, entries taken, a replay.
  enum class Did : std::uint8_t { Write, Take, Replay };
  struct Action {
    Did what{};
    Time at{};
    std::size_t number = 0;  // of writes_; of entries
  };
  struct Write {
    FrameIndex frame{};
    PageMask pages;
    bool valid = false, writable = false, remote = false;

    void apply(PageTable& table) const {
      valid ? table.map(frame, pages, writable, remote) : table.unmap(frame, pages);
    }
    bool removes() const { return !valid || !writable; }
  };

  void write(PageTable& pages, const Write& write, Time at);
  bool concerns(FrameIndex frame) const;
  bool is_quiet(Time at) const;
  void go_on(Did what, Time at);
  void enter(std::uint32_t stretch, Time at);

  // --- a kernel that is recalled
  bool has_room_for(std::size_t entries) const {
    return buffer_.size() + entries < static_cast<std::size_t>(hw_.fault_buffer_entries);
  }
  const KnownWalks::Stretch& stretch() const { return (*known_)[stretch_]; }
  bool knows(Time at) const { return stretch().knows(at - since_, behind_ || passed_dropped_); }
  bool recall(Time until, bool one);
  bool puts_off(Time until) const;
  void catch_up();
  Time next_known();
  void walk();

  // --- a kernel that is walked
  bool walks() const { return !recalls_ && walker_.walks(); }
  void record(Time known);
  void record(const BufferedFault& fault);
  bool record_dropped(std::size_t dropped, std::size_t written);

  FaultHardware hw_;
  FaultUnit walker_;
  WalkMemory* memory_;
  std::size_t kind_ = 0;

  // --- the kernel
  const KernelProgram* program_ = nullptr;
  PageTable* pages_ = nullptr;
  Duration in_core_{};
  Time launched_{};
  std::int64_t passed_ = 0;
  bool recalls_ = false;               // else `walker_` walks it
  std::shared_ptr<KnownWalks> known_;  // nullptr: it is neither recalled nor remembered
  WalkStart start_;
  std::uint64_t granted_ = 0;  // granted_sum of its ranges
  std::uint32_t stretch_ = 0;  // where it is among `known_`
  Time since_{};               // when that stretch began
  KnownWalks::Place place_;    // among the entries of the stretch
  std::int64_t recorded_ = 0;  // of walker_.entries_written()
  std::size_t recorded_dropped_ = 0;
  bool was_dropped_ = false;  // entries of this stretch, before the kernel came there

  // --- before a look-ahead
  struct Mark {
    KnownWalks::Place place;
    std::int64_t recorded = 0;
    Time settled{}, next_entry{};
    bool walker = false;  // of `marked_walker_`
  };
  std::optional<Mark> mark_;
  std::optional<FaultUnit> marked_walker_;

  // --- a kernel that is recalled
  Time settled_{};         // what happens up to then has happened
  bool discards_ = false;  // nobody looks at entries; `behind_`: some are still to be written
  bool behind_ = false;
  bool passed_dropped_ = false;  // a flush took those of this stretch that were dropped
  Ring<BufferedFault> buffer_, buffer_at_launch_;
  Time next_entry_{}, next_entry_at_launch_{};
  // To walk it after all: what was done to it, and the entries as they were at its launch of the frames written since.
  std::vector<Action> actions_;
  std::vector<Write> writes_;
  std::unordered_map<std::uint32_t, PageTable::Entries> at_launch_;
};

}  // namespace uvmsim
