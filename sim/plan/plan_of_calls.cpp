#include "plan/plan_of_calls.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace uvmsim {
namespace {

bool on_device(const trace::Alloc& alloc) {
  return alloc.space < 0 || alloc.space == static_cast<std::int8_t>(trace::Space::Managed) ||
         alloc.space == static_cast<std::int8_t>(trace::Space::Device);
}

class Recorder {
 public:
  Recorder(const trace::Trace& trace, std::string planner) : trace_(trace), planner_(std::move(planner)) {}

  std::vector<Plan> run() {
    const auto [first, outer] = last_iteration();
    for (std::size_t i = 0; i < first; ++i) set_up(trace_.records[i]);
    for (std::size_t i = 0; i < trace_.records.size(); ++i)
      if (const auto* kernel = std::get_if<trace::Kernel>(&trace_.records[i])) kernel_streams_.insert(kernel->stream);
    for (auto& [device, held] : held_) {
      Plan& plan = plan_of(device);
      plan.iteration.held = static_cast<std::int32_t>(held.size());
      for (std::size_t n = 0; n < held.size(); ++n) ordinals_[held[n]] = static_cast<std::int32_t>(n);
    }
    for (std::size_t i = first; i < outer; ++i) std::visit([this](const auto& r) { note(r); }, trace_.records[i]);

    std::vector<Plan> plans;
    for (auto& [device, plan] : plans_) {
      if (plan.calls.empty()) continue;
      for (Call& call : plan.calls) {
        if (call.kernel < plan.iteration.kernels) continue;
        call.kernel = plan.iteration.kernels - 1;  // nothing follows: after the last one
        call.after = true;
      }
      plans.push_back(std::move(plan));
    }
    return plans;
  }

 private:
  // Without a mark, all of the trace is one.
  std::pair<std::size_t, std::size_t> last_iteration() const {
    std::size_t first = 0;
    for (std::size_t i = 0; i < trace_.records.size(); ++i)
      if (std::holds_alternative<trace::Iteration>(trace_.records[i])) first = i;
    return {first, trace_.records.size()};
  }

  void set_up(const trace::Record& record) {
    if (const auto* alloc = std::get_if<trace::Alloc>(&record)) {
      if (!on_device(*alloc)) return;
      devices_[alloc->tensor] = alloc->device;
      held_[alloc->device].push_back(alloc->tensor);
    } else if (const auto* free = std::get_if<trace::Free>(&record)) {
      const auto device = devices_.find(free->tensor);
      if (device != devices_.end()) std::erase(held_[device->second], free->tensor);
    }
  }

  Plan& plan_of(int device) {
    const auto [at, inserted] = plans_.try_emplace(device);
    if (inserted) at->second.gpu = device, at->second.planner = planner_;
    return at->second;
  }

  template <class R>
  void note(const R&) {}
  void note(const trace::Alloc& alloc) {
    if (!on_device(alloc)) return;
    Plan& plan = plan_of(alloc.device);
    devices_[alloc.tensor] = alloc.device;
    ordinals_[alloc.tensor] = plan.iteration.held + plan.iteration.made++;
  }
  void note(const trace::Kernel& kernel) { ++plan_of(kernel.device).iteration.kernels; }
  void note(const trace::Prefetch& r) {
    add({.kind = Call::Kind::Prefetch, .to_cpu = r.destination < 0}, r.tensor, r.offset, r.length, r.stream, false);
  }
  void note(const trace::Discard& r) {
    add({.kind = r.lazy ? Call::Kind::DiscardLazy : Call::Kind::Discard}, r.tensor, r.offset, r.length, r.stream, true);
  }
  void note(const trace::Advise& r) {
    add({.kind = Call::Kind::Advise,
         .to_cpu = r.device < 0,
         .advice = static_cast<trace::Advice>(std::abs(r.advice)),
         .unset = r.advice < 0},
        r.tensor, r.offset, r.length, -1, r.advice < 0);
  }

  void add(Call call, trace::TensorId tensor, std::int64_t offset, std::int64_t bytes, std::int32_t stream,
           bool follows) {
    const auto device = devices_.find(tensor);
    if (device == devices_.end()) return;  // host memory
    Plan& plan = plan_of(device->second);
    call.after = follows && plan.iteration.kernels > 0;
    call.kernel = plan.iteration.kernels - (call.after ? 1 : 0);
    call.tensor = ordinals_.at(tensor);
    call.offset = offset;
    call.bytes = bytes;
    if (stream >= 0 && !kernel_streams_.contains(stream)) {
      call.stream = Call::Stream::Side;
      under_way_[stream].push_back({device->second, plan.calls.size()});
    }
    plan.calls.push_back(call);
  }

  // Who waits for calls on a side stream.
  void note(const trace::EventRecord& event) {
    const auto found = under_way_.find(event.stream);
    if (found == under_way_.end()) return;
    recorded_[event.event] = std::move(found->second);
    under_way_.erase(found);
  }
  void note(const trace::EventWait& wait) {
    const auto found = recorded_.find(wait.event);
    if (found == recorded_.end() || !kernel_streams_.contains(wait.stream)) return;
    for (const auto& [device, index] : found->second) {
      Plan& plan = plans_.at(device);
      plan.calls[index].awaited_by = plan.iteration.kernels;
    }
    recorded_.erase(found);
  }

  using Places = std::vector<std::pair<int, std::size_t>>;  // device and index in its plan's calls
  const trace::Trace& trace_;
  std::string planner_;
  std::set<std::int32_t> kernel_streams_;
  std::unordered_map<trace::TensorId, int> devices_;            // looked up, never walked; so is the next
  std::unordered_map<trace::TensorId, std::int32_t> ordinals_;  // of the last iteration
  std::map<int, std::vector<trace::TensorId>> held_;
  std::map<int, Plan> plans_;
  std::map<std::int32_t, Places> under_way_, recorded_;  // by stream, by event
};

}  // namespace

std::vector<Plan> plans_of_calls(const trace::Trace& trace, const std::string& planner) {
  return Recorder(trace, planner).run();
}

}  // namespace uvmsim
