// What the CTAs of kernels did on the GPUs of a simulation, to be recalled where a kernel begins as one did before.
//
// Between two things that the driver does, a fault unit depends on nothing but its state. So kernels that begin alike,
// and whose driver does the same, do the same: at the same times after the driver's last action, and, where nothing was
// about to happen by itself any more, whenever that action comes.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/units.h"
#include "gpu/kernel_program.h"
#include "gpu/page_table.h"
#include "machine/machine.h"

namespace uvmsim {

// What decides how a kernel goes on until the driver does something.
struct WalkStart {
  std::size_t gpu = 0;        // WalkMemory::kind_of
  std::uint64_t program = 0;  // KernelProgram::likeness
  std::uint64_t granted = 0;  // see granted_sum
  Duration in_core{};
  Duration next_entry{};  // until the GPU may write another fault entry
  friend bool operator==(const WalkStart&, const WalkStart&) = default;
};

// All that is known of kernels that begin alike, as a tree: what the driver did is a way from its root.
class KnownWalks {
 public:
  // An entry of the fault buffer, written so long after its stretch began: page `page` of range `range` of the program.
  struct Entry {
    Duration at{};
    std::uint32_t page = 0, range = 0;
    std::uint16_t utlb = 0;
    bool write = false;
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  // A place among the entries of a stretch.
  struct Place {
    std::size_t byte = 0;
    Entry last;                // read or written
    Duration apart{};          // of it and the one before
    std::uint32_t passed = 0;  // entries before it
    bool waits = false;        // `last` was looked at, and is still to come
  };
  // From one thing that the driver did to the next one. All times since then.
  struct Stretch {
    std::vector<std::uint8_t> entries;  // see `write`
    Place end;                          // behind them
    // Entries between them that were dropped (FaultUnit::discard), where, and when all of them can be seen.
    std::uint32_t dropped = 0;
    Duration dropped_from = kNever, dropped_by{};
    Duration known{-1};             // up to when everything is known
    Duration quiet = kNever;        // FaultUnit::quiet_since
    Duration ended = kNever;        // FaultUnit::ended_at
    Duration last_end = kNever;     // FaultUnit::last_end; kNever: none
    std::int64_t passed = 0;        // FaultUnit::passed, when it began
    std::uint64_t action = 0;       // what the driver did when it began
    std::uint32_t child = kRoot;    // a stretch that begins at its end
    std::uint32_t sibling = kRoot;  // another one of the same parent; kRoot: there is none

    // `discards`: entries do not matter, only how many there are.
    bool knows(Duration at, bool discards = false) const {
      return (discards || at < dropped_from) && (at <= known || quiet != kNever || ended != kNever);
    }
  };
  static constexpr std::uint32_t kRoot = 0;

  Stretch& operator[](std::uint32_t stretch) { return stretches_[stretch]; }
  const Stretch& operator[](std::uint32_t stretch) const { return stretches_[stretch]; }

  // The stretch that `action` at the end of `stretch` begins; nothing: that was never seen.
  std::optional<std::uint32_t> after(std::uint32_t stretch, std::uint64_t action) const;
  std::uint32_t add(std::uint32_t stretch, std::uint64_t action);

  // The entry at `place`, which stays there until `pass`; nullptr: no more are known.
  const Entry* look(std::uint32_t stretch, Place& place) const;
  static void pass(Place& place) {
    place.waits = false;
    ++place.passed;
  }
  // Passes those at `place` up to and including `until`, at most `most` of them, and gives each to `each`: their
  // number.
  template <class Each>
  std::size_t pass_until(std::uint32_t stretch, Place& place, Duration until, std::size_t most, Each each) const {
    Place p = place;  // in registers
    const std::vector<std::uint8_t>& bytes = stretches_[stretch].entries;
    std::size_t passed = 0;
    for (; passed < most && (p.waits || p.byte != bytes.size()); ++passed) {
      if (!p.waits) read(bytes.data(), p);
      p.waits = p.last.at > until;
      if (p.waits) break;
      each(p.last);
    }
    p.passed += static_cast<std::uint32_t>(passed);
    place = p;
    return passed;
  }
  // Adds an entry at `place`, the end of those known, and passes it.
  void write(std::uint32_t stretch, Place& place, const Entry& entry);

  std::size_t bytes() const { return bytes_; }  // about
  void shrink_to_fit();

 private:
  // An entry is a byte of flags and of its uTLB, and numbers of seven bits a byte of what differs from the entry
  // before: how much later it comes than that did after its own, where it does not come just as much later; the range;
  // the page.
  static constexpr std::uint8_t kWrites = 1, kAsLate = 2, kSameRange = 4;
  static constexpr std::uint32_t kUtlbs = 31;  // the last one of them: the uTLB follows as a number

  static std::uint64_t number(const std::uint8_t*& at) {
    std::uint64_t number = 0;
    for (int shift = 0;; shift += 7) {
      const std::uint64_t byte = *at++;
      number |= (byte & 127) << shift;
      if (byte < 128) return number;
    }
  }
  static std::int64_t signed_number(const std::uint8_t*& at) {
    const std::uint64_t n = number(at);
    return static_cast<std::int64_t>(n >> 1 ^ (~(n & 1) + 1));
  }
  // The entry behind `place`, into it.
  static void read(const std::uint8_t* bytes, Place& place) {
    const std::uint8_t* at = bytes + place.byte;
    const std::uint8_t flags = *at++;
    Entry& entry = place.last;
    entry.write = (flags & kWrites) != 0;
    entry.utlb = static_cast<std::uint16_t>(flags >> 3 == kUtlbs ? number(at) : flags >> 3);
    if ((flags & kAsLate) == 0) place.apart += Duration{signed_number(at)};
    entry.at += place.apart;
    if ((flags & kSameRange) == 0) entry.range = static_cast<std::uint32_t>(number(at));
    entry.page = static_cast<std::uint32_t>(entry.page + signed_number(at));
    place.byte = static_cast<std::size_t>(at - bytes);
  }

  std::vector<Stretch> stretches_ = std::vector<Stretch>(1);
  std::size_t bytes_ = sizeof(Stretch);
};

class WalkMemory {
 public:
  // Remembers about as many bytes, those that were used last.
  explicit WalkMemory(std::size_t most = std::size_t{32} << 20) : most_(most) {}

  // GPUs of one kind do the same.
  std::size_t kind_of(const GpuSpec& gpu);
  // What is known of kernels that start like this one, which may be nothing.
  std::shared_ptr<KnownWalks> find(const WalkStart& start);
  // What is known of them has grown.
  void settle(const WalkStart& start);
  // So much of one kernel is worth remembering.
  std::size_t most_of_one() const { return most_ / 4; }

 private:
  struct Known {
    WalkStart start;
    std::shared_ptr<KnownWalks> walks = std::make_shared<KnownWalks>();
    std::size_t bytes = 0;  // of those in `bytes_`
  };
  struct Hash {
    std::size_t operator()(const WalkStart& start) const { return start.program ^ start.granted; }
  };

  std::size_t most_, bytes_ = 0;
  std::vector<GpuSpec> kinds_;
  std::list<Known> known_;  // the last one used first
  std::unordered_map<WalkStart, std::list<Known>::iterator, Hash> places_;
};

// A number for what a program finds granted in its ranges, wherever they are: a sum over their pages by 64. Or only
// over those that have to do with `frame`, so that a change of its entries changes the whole sum by the difference.
std::uint64_t granted_sum(const PageTable& pages, std::span<const PageRange> ranges);
std::uint64_t granted_sum(const PageTable& pages, std::span<const PageRange> ranges, FrameIndex frame);

}  // namespace uvmsim
