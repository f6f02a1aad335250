#include "plan/plan_of_calls.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace uvmsim {
namespace {

// Records the calls of one device's last iteration.
class Recorder {
 public:
  Recorder(const trace::Trace& trace, DeviceOrdinal device, const std::string& planner)
      : trace_(trace), device_(device), iteration_(iterations_of(trace, device).back()) {
    plan_.gpu = GpuIndex{device.value};  // GPU n is to run device n
    plan_.planner = planner;
    plan_.iteration = iteration_.shape;
    for (std::size_t t = 0; t < iteration_.tensors.size(); ++t)
      ordinals_[iteration_.tensors[t]].push_back(static_cast<std::int32_t>(t));
    for (const trace::Record& record : trace_.records)
      if (const auto* kernel = std::get_if<trace::Kernel>(&record)) kernel_streams_.insert(kernel->stream);
  }

  Plan run() {
    for (at_ = iteration_.begin; at_ < iteration_.outer; ++at_)
      std::visit([this](const auto& r) { note(r); }, trace_.records[at_]);
    for (Call& call : plan_.calls) {
      if (call.kernel < plan_.iteration.kernels) continue;
      call.kernel = plan_.iteration.kernels - 1;  // nothing follows: after the last one
      call.after = true;
    }
    return std::move(plan_);
  }

 private:
  template <class R>
  void note(const R&) {}
  void note(const trace::Kernel& kernel) { kernels_ += DeviceOrdinal{kernel.device} == device_ ? 1 : 0; }
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

  // Of the allocations that had the id in turn, the one that is live; -1: none counts in plans.
  std::int32_t ordinal(trace::TensorId tensor) const {
    const auto found = ordinals_.find(tensor);
    if (found == ordinals_.end()) return -1;
    const auto live = std::ranges::find_if(found->second, [&](std::int32_t t) {
      const auto i = static_cast<std::size_t>(t);
      return iteration_.made[i] < at_ && at_ <= iteration_.freed[i];
    });
    return live == found->second.end() ? -1 : *live;
  }

  void add(Call call, trace::TensorId tensor, std::int64_t offset, std::int64_t bytes, std::int32_t stream,
           bool follows) {
    call.tensor = ordinal(tensor);
    if (call.tensor < 0) return;  // host memory, or another device's
    call.after = follows && kernels_ > 0;
    call.kernel = kernels_ - (call.after ? 1 : 0);
    call.offset = offset;
    call.bytes = bytes;
    if (stream >= 0 && !kernel_streams_.contains(stream)) {
      call.stream = Call::Stream::Side;
      under_way_[stream].push_back(plan_.calls.size());
    }
    plan_.calls.push_back(call);
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
    for (const std::size_t call : found->second) plan_.calls[call].awaited_by = kernels_;
    recorded_.erase(found);
  }

  const trace::Trace& trace_;
  const DeviceOrdinal device_;
  const IterationRecords iteration_;
  Plan plan_;
  std::set<std::int32_t> kernel_streams_;
  std::unordered_map<trace::TensorId, std::vector<std::int32_t>> ordinals_;  // looked up, never walked
  std::size_t at_ = 0;                                                       // the record that is noted
  std::int32_t kernels_ = 0;                                                 // so far
  std::map<std::int32_t, std::vector<std::size_t>> under_way_, recorded_;    // calls, by stream and by event
};

}  // namespace

std::vector<Plan> plans_of_calls(const trace::Trace& trace, const std::string& planner) {
  std::set<DeviceOrdinal> devices;
  for (const trace::Record& record : trace.records)
    if (const auto* alloc = std::get_if<trace::Alloc>(&record)) devices.insert(DeviceOrdinal{alloc->device});
  std::vector<Plan> plans;
  for (const DeviceOrdinal device : devices)
    if (Plan plan = Recorder(trace, device, planner).run(); !plan.calls.empty()) plans.push_back(std::move(plan));
  return plans;
}

}  // namespace uvmsim
