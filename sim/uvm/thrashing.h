// Thrashing: processors that fight over a page are throttled, then the page is pinned and mapped remotely.
//
// Source: driver specification, section 5; uvm_perf_thrashing.c. Differs: revocations of permissions are not
// events here, since system-wide atomics are not modelled. Pins end at the first service of the VaSpace after
// their deadline, where the driver has a timer.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>

#include "machine/machine.h"
#include "uvm/topology.h"
#include "uvm/va_block.h"

namespace uvmsim {

// The module parameters, in time. Nap, epoch and pin stay as the initial lapse gives them.
struct ThrashingRules {
  ThrashingRules(const DriverConfig& config, const DriverTraits& traits);
  bool enable;
  bool adaptive_lapse;
  int threshold, pin_threshold, max_resets, vote_threshold;
  Duration lapse, nap, epoch, pin;
};

// What a VaSpace keeps: the lapse, which adapts since 590, and the pinned pages by deadline.
struct ThrashingSpace {
  struct Pin {
    BlockHandle block;
    std::uint32_t page = 0;
    Time deadline{};
  };
  explicit ThrashingSpace(const ThrashingRules& rules) : lapse(rules.lapse), vote_threshold(rules.vote_threshold) {}
  // One hint on a thrashing page came `gap` after the page's last event. Section 5.4: adjust_thrashing_lapse,
  // with its comparison of a signed vote and an unsigned threshold.
  void vote(Duration gap);

  Duration lapse;
  int vote_threshold;  // uvm_perf_lapse_vote_threshold
  std::int8_t votes = 0;
  std::deque<Pin> pins;
};

struct ThrashingHint {
  enum class Kind : std::uint8_t { None, Pin, Throttle };
  Kind kind = Kind::None;
  ProcessorId residency{};  // of a Pin
  Time until{};             // of a Throttle
};

// Per-page tracking of a block; exists once two processors have fought over it within a lapse.
class ThrashingBlock {
 public:
  // Pages moved to `to` by a fault or prefetch.
  void note_migration(const PageMask& pages, ProcessorId to, Time now, const ThrashingRules& rules, Duration lapse);
  // Forgets what is known of `pages`.
  void reset(const PageMask& pages);
  // Section 5.2, for a page resident at `closest` as seen from `requester`.
  struct Fault {
    BlockHandle block;
    std::uint32_t page = 0;
    ProcessorId requester, closest;
    std::optional<ProcessorId> preferred_location;
    Time now{};
  };
  ThrashingHint hint(const Fault& fault, const ThrashingRules& rules, const Topology& topology, ThrashingSpace& space);
  // Nothing thrashed for an epoch and nothing was ever pinned: tracking may be dropped.
  bool idle(Time now, const ThrashingRules& rules) const;

  const PageMask& thrashing() const { return thrashing_; }
  const PageMask& pinned() const { return pinned_; }
  ProcessorSet processors(std::uint32_t page) const { return pages_[page].processors; }
  // Whether the page is pinned until exactly `deadline`.
  bool pinned_until(std::uint32_t page, Time deadline) const {
    return pinned_.test(page) && pages_[page].pin_deadline == deadline;
  }

 private:
  struct Page {
    std::optional<Time> last_event;
    Time throttling_end{}, pin_deadline{};
    ProcessorSet processors, throttled;
    std::optional<ProcessorId> pinned_at, exempt;  // exempt: not to be throttled in this period
    std::uint8_t events = 0;                       // saturates at 7
    std::uint8_t throttlings = 0;                  // saturates at 255
  };

  void update_throttling(Page& page, ProcessorId requester, Time now, Duration nap) const;
  ThrashingHint decide(const Page& page, const Fault& fault, const ThrashingRules& rules,
                       const Topology& topology) const;
  void pin(Page& page, const Fault& fault, ProcessorId residency, const ThrashingRules& rules, ThrashingSpace& space);

  std::array<Page, kPagesPerBlock> pages_;
  PageMask thrashing_, pinned_;
  std::optional<Time> last_thrashing_;
  bool ever_pinned_ = false;
};

}  // namespace uvmsim
