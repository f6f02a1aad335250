#include "engine/swap_executor.h"

#include <algorithm>

#include "base/check.h"
#include "engine/coordination.h"
#include "plan/profile.h"

namespace uvmsim {

SwapExecutor::SwapExecutor(ProcessContext& process, int device, std::span<const Plan> plans, Push push)
    : process_(process),
      gpu_(*process.services.gpus[static_cast<std::size_t>(process.gpus[static_cast<std::size_t>(device)])]),
      device_(device),
      push_(std::move(push)),
      bytes_(gpu_.spec().usable_memory),
      next_event_(-1 - 4096 * device) {
  const std::string name = "process " + std::to_string(process.va_space) + " gpu" + std::to_string(gpu_.index());
  Coordination* const coordination = process.coordination;
  out_signal_ = new_signal("a swap out of " + name, 0, EventState::Kind::Swap);
  in_signal_ = new_signal("a swap in of " + name, 0, EventState::Kind::Swap);
  out_ = std::make_unique<SwapStream>(gpu_, SwapStream::Direction::Out, name, *out_signal_->event, coordination);
  in_ = std::make_unique<SwapStream>(gpu_, SwapStream::Direction::In, name, *in_signal_->event, coordination);
  if (coordination != nullptr && coordination->takes_turns(gpu_.index())) {
    turn_signal_ = new_signal("a turn of " + name, 0, EventState::Kind::Turn);
    coordination->add_gpu(gpu_.index(), *turn_signal_->event);
  }
  for (const Plan& plan : plans)
    if (plan.gpu == gpu_.index()) schedules_.push_back(schedule_of(plan));
  shapes_ = shapes_of_iterations();
}

std::unique_ptr<SwapExecutor::Signal> SwapExecutor::new_signal(const std::string& what, std::int32_t stream,
                                                               EventState::Kind kind) {
  const std::int32_t id = next_event_--;
  std::unique_ptr<EventState>& event = process_.events[id];
  event = std::make_unique<EventState>(what, kind);
  return std::make_unique<Signal>(
      Signal{.event = event.get(), .record = op::EventRecord{id, stream}, .wait = op::EventWait{id, stream}});
}

// --- plans and places

SwapExecutor::Schedule SwapExecutor::schedule_of(const Plan& plan) {
  Schedule s{.plan = &plan};
  const auto places = 2 * static_cast<std::size_t>(plan.iteration.kernels);
  s.out.resize(places);
  s.in.resize(places);
  s.recompute.resize(places / 2);
  s.layer_ends.insert(plan.layer_ends.begin(), plan.layer_ends.end());
  const auto place = [](const Trigger& t) {
    return 2 * static_cast<std::size_t>(t.kernel) + (t.on == Trigger::On::AfterKernel ? 1 : 0);
  };
  for (const Disposition& d : plan.dispositions) {
    if (d.kind == Disposition::Kind::Keep) continue;
    s.out[place(d.out.at)].push_back(&d);
    if (d.kind == Disposition::Kind::Swap && d.in.at.on != Trigger::On::Access) s.in[place(d.in.at)].push_back(&d);
    if (d.kind == Disposition::Kind::Recompute) s.recompute[static_cast<std::size_t>(d.next_use)].push_back(&d);
  }
  return s;
}

std::vector<IterationShape> SwapExecutor::shapes_of_iterations() const {
  std::vector<IterationShape> shapes;
  std::int32_t live = 0;
  IterationShape* shape = nullptr;
  for (const Op& op : process_.program.ops) {
    if (std::holds_alternative<op::Iteration>(op)) {
      shapes.push_back({.held = live});
      shape = &shapes.back();
    }
    const auto* m = std::get_if<op::MallocDevice>(&op);
    if (m != nullptr && m->device == device_) {
      ++live;
      if (shape != nullptr) ++shape->made;
    }
    const auto* f = std::get_if<op::FreeDevice>(&op);
    if (f != nullptr && f->device == device_) --live;
    const auto* k = std::get_if<op::Kernel>(&op);
    if (shape != nullptr && k != nullptr && k->device == device_) ++shape->kernels;
  }
  return shapes;
}

void SwapExecutor::begin_iteration() {
  leave_forward();
  if (turn_signal_) {
    turn_ = Turn::Asked;
    ++turn_signal_->event->recorded;
    process_.coordination->asked();
  }
  const IterationShape shape = shapes_.at(iteration_++);
  in_iteration_ = true;
  const auto found = std::ranges::find_if(schedules_, [&](const Schedule& s) { return s.plan->iteration == shape; });
  schedule_ = found == schedules_.end() ? nullptr : &*found;
  kernels_before_ += std::exchange(kernel_, 0);
  launched_.clear();
  by_ordinal_.clear();
  for (auto& [address, tensor] : tensors_) {
    tensor.ordinal = static_cast<std::int32_t>(by_ordinal_.size());
    tensor.last_kernel = -1;
    by_ordinal_.push_back(address);
  }
  reclaimed_before_ = std::exchange(reclaimed_, {});
}

// --- turns with forward passes

void SwapExecutor::begin_phase(const std::string& name) {
  if (forward_ && name != "forward") leave_forward();
  forward_ = name == "forward";
}

// The forward pass begins where its first kernel does.
void SwapExecutor::take_turn(std::int32_t stream) {
  if (turn_ != Turn::Asked || !forward_) return;
  turn_ = Turn::Taken;
  push_(turn_signal_->wait, stream, turn_signal_->event->recorded);
}

// All of the forward pass is issued, if there was one.
void SwapExecutor::leave_forward() {
  if (turn_ == Turn::None) return;
  turn_ = Turn::None;
  reach(Moment::ForwardDone, all_launched());
  reach(Moment::CopiesOutDone, {{out_signal_->event, out_signal_->event->recorded}});
}

void SwapExecutor::finish() {
  if (!turn_signal_) return;
  leave_forward();
  reach(Moment::Finished, all_launched());
}

void SwapExecutor::reach(Moment moment, std::vector<StreamPoint> points) {
  process_.coordination->reach(gpu_.index(), static_cast<std::int64_t>(iteration_) - 1, moment, std::move(points));
}

std::vector<StreamPoint> SwapExecutor::all_launched() const {
  std::vector<StreamPoint> points;
  for (const auto& [stream, signal] : signals_) points.push_back({signal->event, signal->event->recorded});
  return points;
}

SwapExecutor::Tensor* SwapExecutor::tensor_at(VirtualAddress address) {
  auto it = tensors_.upper_bound(address);
  if (it == tensors_.begin()) return nullptr;
  --it;
  return address < it->first + static_cast<VirtualAddress>(it->second.bytes) ? &it->second : nullptr;
}

SwapExecutor::Tensor* SwapExecutor::tensor_of(const Disposition& d) {
  const auto ordinal = static_cast<std::size_t>(d.tensor);
  if (ordinal >= by_ordinal_.size()) return nullptr;
  const auto found = tensors_.find(by_ordinal_[ordinal]);
  return found == tensors_.end() ? nullptr : &found->second;
}

std::vector<SwapExecutor::Tensor*> SwapExecutor::operands(OperandSpan span) {
  std::vector<Tensor*> found;
  for (const Operand& o : std::span(process_.program.operands).subspan(span.first, span.count)) {
    if (o.managed()) continue;
    Tensor* tensor = tensor_at(o.address);
    if (tensor != nullptr && std::ranges::find(found, tensor) == found.end()) found.push_back(tensor);
  }
  return found;
}

// --- what the host thread tells

void SwapExecutor::allocate(const op::MallocDevice& call, Time issued) {
  Tensor tensor{.bytes = held_bytes(call.bytes)};
  if (in_iteration_) {
    tensor.ordinal = static_cast<std::int32_t>(by_ordinal_.size());
    by_ordinal_.push_back(call.address);
  }
  obtain(tensor.bytes, last_launch_.event, tensor.waits, issued);
  tensors_.emplace(call.address, std::move(tensor));
}

void SwapExecutor::free(const op::FreeDevice& call) {
  const auto found = tensors_.find(call.address);
  UVMSIM_CHECK(found != tensors_.end(), "only live tensors are freed");
  const Tensor& tensor = found->second;
  if (tensor.state == State::Resident) {
    std::vector<StreamPoint> after = tensor.waits;
    after.push_back(tensor.used);
    if (tensor.clean) after.push_back(tensor.copied);
    bytes_.release(tensor.bytes, std::move(after), Sync::Stream);
  }
  std::erase_if(deferred_, [&](const Deferred& d) { return d.tensor == call.address; });
  tensors_.erase(found);
}

SwapExecutor::Signal& SwapExecutor::signal_of(std::int32_t stream) {
  std::unique_ptr<Signal>& signal = signals_[stream];
  if (!signal) signal = new_signal("the work on stream " + std::to_string(stream), stream, EventState::Kind::Swap);
  return *signal;
}

void SwapExecutor::before(const Op& op, OperandSpan span, std::int32_t stream, Time issued) {
  const bool kernel = std::holds_alternative<op::Kernel>(op);
  if (kernel) take_turn(stream);
  if (turn_ == Turn::Taken && std::holds_alternative<op::Collective>(op)) reach(Moment::MeetsPeers, all_launched());
  if (kernel && schedule_ != nullptr) {
    run_triggers(2 * static_cast<std::size_t>(kernel_), issued);
    for (const Disposition* d : schedule_->recompute[static_cast<std::size_t>(kernel_)]) recompute(*d, issued);
  }
  retry_deferred(issued);
  const std::vector<Tensor*> used = operands(span);
  for (Tensor* t : used) t->pinned = true;
  for (Tensor* t : used) {
    if (t->state != State::Resident) move_in(*t, Sync::Stream, true, kernels_before_ + kernel_, {}, issued);
    t->clean = false;
    for (const StreamPoint& point : t->waits) {
      if (point.reached()) continue;
      for (const Signal* copies : {out_signal_.get(), in_signal_.get()})
        if (copies->event == point.event) push_(copies->wait, stream, point.target);
      for (const auto& [id, signal] : signals_)
        if (signal->event == point.event && id != stream) push_(signal->wait, stream, point.target);
    }
    t->waits.clear();
  }
}

void SwapExecutor::after(const Op& op, OperandSpan span, std::int32_t stream, Time issued) {
  Signal& signal = signal_of(stream);
  push_(signal.record, stream, 0);
  const StreamPoint end{signal.event, ++signal.event->recorded};
  const bool kernel = std::holds_alternative<op::Kernel>(op);
  if (kernel) last_launch_ = end;
  std::vector<Tensor*> used = operands(span);
  for (Tensor* t : used) {
    t->pinned = false;
    t->used = end;
    t->idle_since = ++uses_;
    t->last_kernel = kernel ? kernel_ : kernel_ - 1;
  }
  if (!kernel || !in_iteration_) return;
  launched_.push_back(&op);
  const auto place = 2 * static_cast<std::size_t>(kernel_++) + 1;
  if (schedule_ == nullptr) return;
  speculate(used, issued);
  run_triggers(place, issued);
  retry_deferred(issued);
  if (schedule_->layer_ends.contains(kernel_ - 1)) join_layer();
}

void SwapExecutor::run_triggers(std::size_t place, Time issued) {
  for (const Disposition* d : schedule_->out[place]) {
    Tensor* t = tensor_of(*d);
    if (t == nullptr || t->state != State::Resident) continue;
    if (d->kind == Disposition::Kind::Swap)
      move_out(*t, d->out.sync, d->release == Disposition::Release::CopyDone, false, issued);
    else
      drop(*t);
  }
  for (const Disposition* d : schedule_->in[place])
    if (Tensor* t = tensor_of(*d); t != nullptr && t->state == State::Absent) {
      retry_deferred(issued);
      const std::int64_t needed_by =
          kernels_before_ + d->next_use + (d->wraps() ? schedule_->plan->iteration.kernels : 0);
      if (!deferred_.empty() || !move_in(*t, d->in.sync, false, needed_by, {last_launch_}, issued))
        deferred_.push_back({by_ordinal_[static_cast<std::size_t>(d->tensor)], d->in.sync, needed_by});
    }
}

void SwapExecutor::join_layer() {
  if (layer_waits_.empty()) return;
  layer_waits_.push_back(last_launch_);
  for (const StreamPoint& point : std::exchange(layer_waits_, {})) host_waits(point);
}

// IBM LMS: what was reclaimed after this use an iteration before will be again.
void SwapExecutor::speculate(const std::vector<Tensor*>& idle, Time issued) {
  if (!schedule_->plan->speculate) return;
  for (Tensor* t : idle)
    if (!t->clean && t->state == State::Resident && reclaimed_before_.contains({t->ordinal, t->last_kernel}))
      move_out(*t, Sync::Stream, false, false, issued);
}

// The kernels run again on their streams. Operands that are long freed live for as long as that takes.
void SwapExecutor::recompute(const Disposition& d, Time issued) {
  Tensor* target = tensor_of(d);
  if (target == nullptr || target->state != State::Dropped) return;
  std::vector<std::pair<std::int64_t, StreamPoint>> temporary;
  for (const std::int32_t ordinal : d.kernels) {
    const Op& op = *launched_.at(static_cast<std::size_t>(ordinal));
    const auto& kernel = std::get<op::Kernel>(op);
    std::int64_t bytes = 0;
    for (const Operand& o : std::span(process_.program.operands).subspan(kernel.operands.first, kernel.operands.count))
      if (!o.managed() && tensor_at(o.address) == nullptr) bytes += held_bytes(o.bytes);
    Signal& signal = signal_of(kernel.stream);
    std::vector<StreamPoint> waits;
    if (bytes > 0) obtain(bytes, signal.event, waits, issued);
    for (const StreamPoint& point : waits) host_waits(point);
    const std::int32_t next = std::exchange(kernel_, ordinal);
    const Schedule* schedule = std::exchange(schedule_, nullptr);
    before(op, kernel.operands, kernel.stream, issued);
    push_(op, kernel.stream, 0);
    push_(signal.record, kernel.stream, 0);
    const StreamPoint end{signal.event, ++signal.event->recorded};
    for (Tensor* t : operands(kernel.operands)) t->pinned = false, t->used = end;
    kernel_ = next;
    schedule_ = schedule;
    if (bytes > 0) temporary.emplace_back(bytes, end);
  }
  for (const auto& [bytes, end] : temporary) bytes_.release(bytes, {end}, Sync::Stream);
}

}  // namespace uvmsim
