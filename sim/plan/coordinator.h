// Coordinators answer "which GPU may use a shared link now?": at run time they hold back copies, or whole forward
// passes, of some GPUs for the sake of others. One file each in plan/coordinators/. What to swap is a planner's
// business.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/describe.h"
#include "base/registry.h"
#include "base/units.h"
#include "plan/shared_links.h"

namespace uvmsim {

// A copy of a tensor between a GPU and pinned host memory, or what a GPU passes on in a ring collective, that is ready
// to start, or under way.
struct SwapCopy {
  static constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();
  std::int64_t number = 0;  // in the order in which copies became ready, over all GPUs
  GpuIndex gpu{};
  bool out = false;  // to host memory
  Bytes bytes{};
  bool awaited = false;               // made on demand: the program waits for it already
  std::int64_t until_use = kUnknown;  // kernels that the GPU runs before the one that needs it
  std::optional<GpuIndex> peer = {};  // of a collective, the GPU it goes to; nothing: a copy from or to host memory
};

// What a coordinator is told of an iteration of a GPU. The first two come once in each, in any order, without a forward
// pass before its end.
enum class Moment : std::uint8_t {
  ForwardDone,    // the kernels of the forward pass have run
  CopiesOutDone,  // the copies out that the forward pass asked for have ended
  MeetsPeers,     // the forward pass waits in a collective
  Finished,       // there is no further iteration
};

class CoordinatorFactory;

// The answers depend on what was told and on the arguments, on nothing else. One is made for a run, by a C that is
// constructed from the links, after its parameters if it has some, and says by `kTakesTurns` whether it has turns.
class Coordinator {
 public:
  static constexpr KindText kKind{
      .name = "coordinator", .noun = "coordinator", .use = "plan.coordinator", .options = "plan.coordinator_options"};
  using Factory = CoordinatorFactory;
  template <class C>
  class FactoryOf;

  virtual ~Coordinator() = default;

  // Whether forward passes of `gpu` wait for turns: else the next two are not called for it.
  virtual bool takes_turns(GpuIndex gpu) const;
  // Whether `gpu` may run the forward pass of its iteration `iteration`, counted from 0. Once true it stays true.
  virtual bool may_begin(GpuIndex gpu, std::int64_t iteration) const;
  virtual void reached(GpuIndex gpu, std::int64_t iteration, Moment moment);

  // Whether collectives ask `admit`, too: each rank for what it passes on, once all ranks are there.
  virtual bool coordinates_collectives() const { return false; }

  // When `copy`, one of `waiting`, may start, as things are at `now`: now or earlier for at once, kNever for not before
  // a copy of `under_way` has ended.
  virtual Time admit(const SwapCopy& copy, std::span<const SwapCopy> waiting, std::span<const SwapCopy> under_way,
                     Time now) const;
};

class CoordinatorFactory : public Factory<Coordinator, std::vector<SharedLink>> {
 public:
  // Whether iterations need a phase "forward": forward passes take turns.
  virtual bool takes_turns() const = 0;
};

template <class C>
class Coordinator::FactoryOf final : public With<CoordinatorFactory, typename OptionsOf<C>::type> {
 public:
  bool takes_turns() const override { return C::kTakesTurns; }
  std::unique_ptr<Coordinator> make(std::vector<SharedLink> links) const override {
    return std::make_unique<C>(this->options_, std::move(links));
  }
};

inline Registry<Coordinator>& coordinators() { return registry<Coordinator>(); }

// The group that `gpu` is in; nullptr: it competes with none.
const SharedLink* group_of(const std::vector<SharedLink>& groups, GpuIndex gpu);

}  // namespace uvmsim
