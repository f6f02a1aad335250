#include "uvm/thrashing.h"

#include <algorithm>

namespace uvmsim {
namespace {

constexpr std::uint8_t kMaxEvents = 7;
constexpr int kDefaultLapseMicroseconds = 500;
const Duration kMaxLapse = microseconds(500'000);
const Duration kMaxLapseStep = microseconds(50'000);

bool all_can_access(ProcessorSet processors, ProcessorId memory, const Topology& topology) {
  bool all = true;
  processors.for_each([&](ProcessorId p) { all = all && topology.can_access(p, memory); });
  return all;
}

bool all_have_fast_access(ProcessorSet processors, ProcessorId memory, const Topology& topology) {
  bool all = true;
  processors.for_each([&](ProcessorId p) { all = all && (p == memory || topology.fast_link(p, memory)); });
  return all;
}

ProcessorSet common_locations(ProcessorSet processors, const Topology& topology) {
  ProcessorSet common = topology.accessible(processors.first());
  processors.for_each([&](ProcessorId p) { common = common & topology.accessible(p); });
  return common;
}

ThrashingHint pin_at(ProcessorId residency) { return {ThrashingHint::Kind::Pin, residency, {}}; }
constexpr ThrashingHint kThrottle{ThrashingHint::Kind::Throttle, {}, {}};

}  // namespace

ThrashingRules::ThrashingRules(const DriverConfig& config, const DriverTraits& traits)
    : enable(config.uvm_perf_thrashing_enable),
      adaptive_lapse(traits.adaptive_lapse && config.uvm_perf_thrashing_lapse_usec == kDefaultLapseMicroseconds),
      threshold(config.uvm_perf_thrashing_threshold),
      pin_threshold(config.uvm_perf_thrashing_pin_threshold),
      max_resets(config.uvm_perf_thrashing_max_resets),
      vote_threshold(config.uvm_perf_lapse_vote_threshold),
      lapse(microseconds(config.uvm_perf_thrashing_lapse_usec)),
      nap(lapse * config.uvm_perf_thrashing_nap),
      epoch(lapse * config.uvm_perf_thrashing_epoch),
      pin(lapse * config.uvm_perf_thrashing_pin) {}

void ThrashingSpace::vote(Duration gap) {
  votes = static_cast<std::int8_t>(votes + (gap >= lapse ? 1 : -1));
  const bool passes =
      static_cast<unsigned>(int{votes}) >= static_cast<unsigned>(vote_threshold);  // any negative vote does, too
  if (passes && lapse < kMaxLapse)
    lapse += std::min(lapse / 8, kMaxLapseStep);
  else if (votes >= vote_threshold)
    lapse -= lapse / 8;
  else
    return;
  votes = static_cast<std::int8_t>(votes / 2);
}

void ThrashingBlock::note_migration(const PageMask& pages, ProcessorId to, Time now, const ThrashingRules& rules,
                                    Duration lapse) {
  for_each_page(pages - pinned_, [&](std::uint32_t index) {
    Page& page = pages_[index];
    page.processors.insert(to);
    const std::optional<Time> last = page.last_event;
    page.last_event = now;
    if (!last) return;
    if (now - *last <= lapse) {
      page.events = static_cast<std::uint8_t>(std::min<int>(page.events + 1, kMaxEvents));
      if (page.events < rules.threshold) return;
      thrashing_.set(index);
      last_thrashing_ = now;
    } else if (page.events >= rules.threshold) {
      reset(PageMask::of({index, index + 1}));
    }
  });
}

void ThrashingBlock::reset(const PageMask& pages) {
  const PageMask known = pages & thrashing_;
  for_each_page(known, [&](std::uint32_t index) {
    Page fresh;
    fresh.throttlings = pages_[index].throttlings;  // the driver keeps the count and the exempt processor
    fresh.exempt = pages_[index].exempt;
    pages_[index] = fresh;
  });
  thrashing_ -= known;
  pinned_ -= known;
}

bool ThrashingBlock::idle(Time now, const ThrashingRules& rules) const {
  return last_thrashing_ && now - *last_thrashing_ > rules.epoch && !ever_pinned_;
}

void ThrashingBlock::update_throttling(Page& page, ProcessorId requester, Time now, Duration nap) const {
  if (now > page.throttling_end) {
    page.throttling_end = now + nap;
    page.exempt = page.exempt == requester ? std::nullopt : std::optional(requester);
  } else if (!page.exempt) {
    page.exempt = requester;
  }
}

ThrashingHint ThrashingBlock::decide(const Page& page, const Fault& fault, const ThrashingRules& rules,
                                     const Topology& topology) const {
  const ProcessorId requester = fault.requester;
  const std::optional<ProcessorId> preferred = fault.preferred_location;
  const bool exempt = page.exempt == requester;
  if (preferred && all_can_access(page.processors, *preferred, topology)) return pin_at(*preferred);
  const bool preferred_thrashes = preferred && page.processors.contains(*preferred);
  if (!preferred_thrashes && all_have_fast_access(page.processors, fault.closest, topology)) {
    if (!fault.closest.is_cpu()) return pin_at(fault.closest);
    return requester.is_cpu() ? ThrashingHint{} : pin_at(requester);
  }
  if (preferred == requester && page.pinned_at)
    return page.pinned_at == preferred || exempt ? pin_at(requester) : kThrottle;
  if (page.pinned_at && exempt) {
    if (all_can_access(page.processors, requester, topology)) return pin_at(requester);
    const ProcessorSet common = common_locations(page.processors, topology);
    return pin_at(common.empty() ? requester : topology.closest(requester, common));
  }
  if (page.pinned_at) return topology.can_access(requester, *page.pinned_at) ? pin_at(*page.pinned_at) : kThrottle;
  if (!exempt) return kThrottle;
  return page.throttlings >= rules.pin_threshold ? pin_at(requester) : ThrashingHint{};
}

void ThrashingBlock::pin(Page& page, const Fault& fault, ProcessorId residency, const ThrashingRules& rules,
                         ThrashingSpace& space) {
  if (!page.pinned_at || fault.closest != residency) {
    if (!page.throttled.empty()) page.throttling_end = Time{0};
    page.throttled = {};
  }
  if (!page.pinned_at) {
    page.pin_deadline = rules.pin > Duration{0} ? fault.now + rules.pin : kNever;
    if (rules.pin > Duration{0}) space.pins.push_back({fault.block, fault.page, page.pin_deadline});
    page.throttlings = 0;
    pinned_.set(fault.page);
    ever_pinned_ = true;
  }
  page.pinned_at = residency;
}

ThrashingHint ThrashingBlock::hint(const Fault& fault, const ThrashingRules& rules, const Topology& topology,
                                   ThrashingSpace& space) {
  Page& page = pages_[fault.page];
  if (page.events < rules.threshold || !page.last_event) return {};
  const Duration gap = fault.now - *page.last_event;
  if (rules.adaptive_lapse) space.vote(gap);
  ThrashingHint hint;
  if (page.throttled.contains(fault.requester) && fault.now < page.throttling_end && page.exempt != fault.requester) {
    hint = kThrottle;
  } else {
    if (page.throttled.contains(fault.requester)) {
      page.throttled.erase(fault.requester);
      if (page.throttled.empty()) page.throttling_end = Time{0};
    }
    if (gap > space.lapse && !page.pinned_at) return {};
    page.processors.insert(fault.requester);
    update_throttling(page, fault.requester, fault.now, rules.nap);
    hint = decide(page, fault, rules, topology);
  }
  if (hint.kind == ThrashingHint::Kind::Pin) pin(page, fault, hint.residency, rules, space);
  if (hint.kind == ThrashingHint::Kind::Throttle) {
    if (!page.throttled.contains(fault.requester) && !page.pinned_at)
      page.throttlings = static_cast<std::uint8_t>(std::min(page.throttlings + 1, 255));
    page.throttled.insert(fault.requester);
    hint.until = page.throttling_end;
  }
  return hint;
}

}  // namespace uvmsim
