// Prefetch policies answer "which pages besides the faulted ones should be moved?".
//
// A policy decides and never acts: it sees one service of one VA block and returns a mask; and it may name further
// blocks, which the driver brings in the background.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>

#include "base/page_mask.h"
#include "base/registry.h"
#include "machine/machine.h"

namespace uvmsim {

// One service of one VA block towards one destination. Pages are pages of the block's 2 MiB frame.
struct PrefetchView {
  PageRegion block;     // the VA block: {0, 512} unless it is ragged
  PageRegion region;    // where prefetching is allowed: the whole block, except under HMM and ATS
  PageMask faulted;     // pages this service makes resident at the destination
  PageMask resident;    // pages resident at the destination
  PageMask thrashing;   // pages the thrashing module watches as thrashing
  PageMask cpu_mapped;  // pages mapped readable on the CPU; matters for the CPU as destination only
  bool to_cpu = false;
  bool preferred_location_set = false;
  bool to_preferred_location = false;
  bool resident_anywhere = true;  // some page of the block is resident on some processor
  bool hmm = false;               // the block belongs to pageable memory (HMM)
  bool ats = false;               // the ATS variant of the algorithm: no growth, no alignment, no subtraction
};

// 2 MiB of a process's managed addresses.
struct FrameName {
  int va_space = 0;
  FrameIndex frame{};
  friend auto operator<=>(const FrameName&, const FrameName&) = default;
};

// What a policy that looks beyond the block may ask.
class AheadView {
 public:
  virtual ~AheadView() = default;
  // Whether there are pages of the frame that could come: managed, without advice, not all resident on the GPU.
  virtual bool absent(FrameName frame) const = 0;
};

// One is made for each GPU.
class PrefetchPolicy {
 public:
  static constexpr KindText kKind{.name = "prefetch",
                                  .noun = "prefetch policy",
                                  .use = "driver.prefetch_policy",
                                  .options = "driver.prefetch_options"};
  using Factory = uvmsim::Factory<PrefetchPolicy, const DriverConfig&, const DriverTraits&>;
  template <class P>
  using FactoryOf = uvmsim::FactoryOf<P, PrefetchPolicy, const DriverConfig&, const DriverTraits&>;

  virtual ~PrefetchPolicy() = default;
  // The pages to make resident along with `view.faulted`. Subset of `view.region`; pages already resident
  // at the destination are allowed (they are mapped, not moved). Pure: the same view, the same answer.
  virtual PageMask prefetch(const PrefetchView& view) const = 0;

  // --- beyond the block. Only a policy that looks ahead is called.
  virtual bool looks_ahead() const { return false; }
  // A kernel starts on the GPU. Executions of the same code, grid and operands share an id; 0 is none's.
  virtual void on_launch(std::uint64_t /*execution_id*/) {}
  // A fault batch serviced faults of the GPU on this frame.
  virtual void on_faulted(FrameName) {}
  // The next frame to bring, whole; nullopt: nothing now. Asked while no fault is at hand.
  virtual std::optional<FrameName> next(const AheadView&) { return std::nullopt; }
  // Whether it expects accesses to the frame soon: eviction policies may spare it.
  virtual bool expects(FrameName) const { return false; }
  // CPU time of finding one frame.
  virtual Duration lookup_time() const { return Duration{0}; }
};

inline Registry<PrefetchPolicy>& prefetch_policies() { return registry<PrefetchPolicy>(); }

}  // namespace uvmsim
