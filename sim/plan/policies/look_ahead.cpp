#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/user_error.h"
#include "plan/call_policy.h"
#include "plan/side_stream.h"
#include "plan/tensor_lives.h"

namespace uvmsim {
namespace {

using trace::TensorId;

struct LookAheadOptions {
  int kernels = 8;
  double capacity = 0.95;
  Bytes min_bytes{1 << 20};

  static const Description& description() {
    using O = LookAheadOptions;
    static const Description d =
        Describe<O>("moves tensors out and in ahead of their kernels, by their next uses in the recorded trace")
            .integer("kernels", &O::kernels, "how many kernels ahead", {1, 256}, "kernels")
            .number("capacity", &O::capacity, "share of the GPU's memory that it fills", {0.05, 1})
            .bytes("min_bytes", &O::min_bytes, "smaller tensors are left to faults and to the driver's evictions")
            .build();
    return d;
  }
};

// Walks the trace once with a window of kernels before it. What the window needs comes in as soon as there is room for
// it besides the window itself; room is made by moving out what is used last of all, or never again.
class WindowWalk {
 public:
  WindowWalk(const LookAheadOptions& options, const trace::Trace& trace, const CallSetting& setting)
      : options_(options),
        lives_(trace, setting.placement.memory),
        room_(static_cast<std::int64_t>(static_cast<double>(setting.gpu_memory.value) * options.capacity)),
        out_(first_free_stream(trace), first_free_event(trace), 1),
        in_(out_.stream() + 1, first_free_event(trace) + 2, options.kernels + 1) {
    for (std::size_t i = 0; i < trace.records.size(); ++i)
      if (const auto* kernel = std::get_if<trace::Kernel>(&trace.records[i]))
        launches_.push_back({i, kernel, operands_of(trace, lives_, *kernel)});
  }

  std::vector<InsertedCall> run() {
    for (std::size_t now = 0; now < launches_.size(); ++now) {
      if (now > 0) note_next_uses(launches_[now - 1]);
      release_freed(launches_[now].at);
      while (ahead_ < launches_.size() && ahead_ <= now + static_cast<std::size_t>(options_.kernels) &&
             (ahead_ == now || window_fits(now)))
        bring(now, ahead_++);
    }
    std::ranges::stable_sort(calls_, {}, &InsertedCall::at);
    return std::move(calls_);
  }

 private:
  struct Launch {
    std::size_t at;
    const trace::Kernel* kernel;
    std::vector<KernelOperand> operands;
  };

  std::int64_t bytes(TensorId tensor) const { return lives_.of(tensor).alloc.bytes; }

  // Whether all that the kernels `now` .. `ahead_` use fits at once.
  bool window_fits(std::size_t now) const {
    std::set<TensorId> used;
    std::int64_t needed = 0;
    for (std::size_t k = now; k <= ahead_; ++k)
      for (const KernelOperand& operand : launches_[k].operands)
        if (used.insert(operand.tensor).second) needed += bytes(operand.tensor);
    return needed <= room_;
  }

  void release_freed(std::size_t at) {
    while (!freed_.empty() && freed_.begin()->first < at) {
      const TensorId tensor = freed_.begin()->second;
      freed_.erase(freed_.begin());
      leave(tensor);
    }
  }
  void leave(TensorId tensor) {
    const auto found = resident_.find(tensor);
    if (found == resident_.end()) return;
    held_ -= bytes(tensor);
    by_next_use_.erase({found->second, tensor});
    resident_.erase(found);
  }
  void enter(TensorId tensor, std::size_t next_use) {
    const TensorLife& life = lives_.of(tensor);
    if (const auto found = resident_.find(tensor); found != resident_.end()) {
      by_next_use_.erase({found->second, tensor});
    } else {
      held_ += bytes(tensor);
      if (life.freed != kNoRecord) freed_.emplace(life.freed, tensor);
    }
    resident_[tensor] = next_use;
    by_next_use_.emplace(next_use, tensor);
  }

  // The kernel is over: its operands are as valuable as their next use is near.
  void note_next_uses(const Launch& launch) {
    for (const KernelOperand& operand : launch.operands)
      enter(operand.tensor, lives_.of(operand.tensor).next_use(launch.at + 1));
  }

  // Makes the operands of launch `wanted` resident, in calls that start with launch `now`.
  void bring(std::size_t now, std::size_t wanted) {
    const Launch& launch = launches_[wanted];
    const std::size_t start = launches_[now].at;
    std::vector<trace::Record> in, out;
    for (const KernelOperand& operand : launch.operands) {
      if (resident_.contains(operand.tensor)) continue;
      enter(operand.tensor, launch.at);
      if (wanted > now && worth_a_call(operand.tensor, start))
        in.push_back(
            trace::Prefetch{.tensor = operand.tensor, .destination = launch.kernel->device, .stream = in_.stream()});
    }
    move_out(launch.at, start, out);
    std::optional<std::int32_t> room;
    if (!out.empty()) room = out_.start(start, launch.kernel->stream, out, calls_);
    if (in.empty()) return;
    const std::int32_t end = in_.start(start, launch.kernel->stream, in, calls_, room);
    calls_.push_back({launch.at, trace::EventWait{end, launch.kernel->stream}});
  }

  bool worth_a_call(TensorId tensor, std::size_t at) const {
    const TensorLife& life = lives_.of(tensor);
    return life.lives_at(at) && life.alloc.bytes >= options_.min_bytes.value;
  }

  // Until what is held fits: tensors that no kernel up to the one at `outer` uses, the furthest next use first.
  void move_out(std::size_t outer, std::size_t start, std::vector<trace::Record>& out) {
    while (held_ > room_ && !by_next_use_.empty()) {
      const auto [next_use, tensor] = *by_next_use_.rbegin();
      if (next_use <= outer) return;
      leave(tensor);
      if (next_use != kNoRecord && worth_a_call(tensor, start))
        out.push_back(trace::Prefetch{.tensor = tensor, .destination = -1, .stream = out_.stream()});
    }
  }

  const LookAheadOptions& options_;
  TensorLives lives_;
  const std::int64_t room_;
  SideStream out_, in_;
  std::vector<Launch> launches_;
  std::size_t ahead_ = 0;                     // launches before it have been brought
  std::int64_t held_ = 0;                     // bytes of `resident_`
  std::map<TensorId, std::size_t> resident_;  // and their next use
  std::set<std::pair<std::size_t, TensorId>> by_next_use_;
  std::set<std::pair<std::size_t, TensorId>> freed_;  // of what is or was resident: where it is freed
  std::vector<InsertedCall> calls_;
};

class LookAhead final : public With<CallPolicy, LookAheadOptions> {
 public:
  std::vector<InsertedCall> calls(const trace::Trace& trace, const CallSetting& setting) const override {
    if (trace.header.devices.size() > 1) throw UserError(trace.header.name, "look_ahead plans for one device only");
    return WindowWalk(options_, trace, setting).run();
  }
};

const bool kRegistered = add_plug_in<CallPolicy, LookAhead>(
    {.name = "look_ahead",
     .summary = "move tensors out and in ahead of their kernels by known next uses",
     .source =
         "in the manner of G10: Zhang et al., MICRO 2023; the window and the choice of victims (Belady) are ours"});

}  // namespace
}  // namespace uvmsim
