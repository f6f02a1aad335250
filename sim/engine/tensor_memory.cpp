#include "engine/tensor_memory.h"

#include <algorithm>

#include "base/check.h"
#include "engine/clock.h"
#include "engine/counted_memory.h"
#include "engine/placed_memory.h"
#include "machine/link_tree.h"
#include "machine/memory_nodes.h"
#include "plan/iteration_graph.h"
#include "trace/pattern.h"

namespace uvmsim {
namespace {

// Memory of `gpu` as the process wants it: counted, or placed by its allocator.
std::unique_ptr<DeviceMemory> memory_of(const ProcessContext& process, const GpuSpec& gpu,
                                        std::function<void(const StreamPoint&)> wait) {
  if (process.allocator == nullptr) return std::make_unique<CountedMemory>(gpu.usable_memory);
  const auto spend = [](Duration time) { sleep_until(now() + time); };
  return std::make_unique<PlacedMemory>(*process.allocator, gpu, process.services.machine.host.runtime,
                                        PlacedMemory::Host{std::move(wait), spend});
}

}  // namespace

TensorMemory::TensorMemory(ProcessContext& process, DeviceOrdinal device, Push push)
    : process_(process),
      gpu_(*process.services.gpus[process.gpus[device]]),
      device_(device),
      push_(std::move(push)),
      memory_(memory_of(process, gpu_.spec(), [this](const StreamPoint& point) { host_waits(point); })),
      departures_(process.allocator != nullptr && process.allocator->wants_lifetimes()
                      ? Departures(process.program.ops, device)
                      : Departures()),
      signals_(process, device),
      contents_(process.program),
      nearest_(nearest_dram(process.services.machine, gpu_.index())),
      others_(planned_nodes()) {
  const std::string name = "process " + std::to_string(process.va_space) + " gpu" + std::to_string(gpu_.index().value);
  out_ = std::make_unique<SwapStreams>(gpu_, SwapStream::Direction::Out, name, signals_, process.coordination);
  in_ = std::make_unique<SwapStreams>(gpu_, SwapStream::Direction::In, name, signals_, process.coordination);
  host_ = std::make_unique<HostComputeQueue>(
      name, signals_.make("host compute of " + name, 0, EventState::Kind::Swap),
      process.services.host_cores.at(server_of(process.services.machine, gpu_.index())));
  turns_ = std::make_unique<PlanTurns>(process, gpu_.index(), signals_, *out_, push_);
}

TensorMemory::Tensor* TensorMemory::tensor_at(VirtualAddress address) {
  auto it = tensors_.upper_bound(address);
  if (it == tensors_.begin()) return nullptr;
  --it;
  return address < it->first + static_cast<VirtualAddress>(it->second.bytes) ? &it->second : nullptr;
}

TensorMemory::Tensor* TensorMemory::tensor_starting_at(VirtualAddress address) {
  const auto found = tensors_.find(address);
  return found == tensors_.end() ? nullptr : &found->second;
}

const std::vector<TensorMemory::Tensor*>& TensorMemory::operands(OperandSpan span) {
  if (span == span_) return of_span_;
  span_ = span;
  std::vector<Tensor*>& found = of_span_;
  found.clear();
  for (const Operand& o : std::span(process_.program.operands).subspan(span.first, span.count)) {
    if (o.managed()) continue;
    Tensor* tensor = tensor_at(o.address);
    if (tensor != nullptr && std::ranges::find(found, tensor) == found.end()) found.push_back(tensor);
  }
  return found;
}

// --- the program

void TensorMemory::begin_iteration() {
  rules_ = {};
  in_iteration_ = true;
  kernel_ = allocation_ = 0;
  for (auto& [address, tensor] : tensors_) {
    tensor.nth = allocation_++;
    tensor.last_kernel = -1;
  }
  reclaimed_before_ = std::exchange(reclaimed_, {});
}

void TensorMemory::allocate(const op::MallocDevice& call, Time issued) {
  Tensor tensor{.address = call.address, .bytes = held_bytes(call.bytes), .asked = call.bytes};
  tensor.contents.lost = call.again;
  if (in_iteration_ && !call.again) tensor.nth = allocation_++;
  tensor.block = obtain(request(tensor, tensor.bytes, last_launch_.event), tensor.waits, issued);
  tensors_.emplace(call.address, std::move(tensor));
  forget_span();
}

void TensorMemory::free(const op::FreeDevice& call) {
  const auto found = tensors_.find(call.address);
  UVMSIM_CHECK(found != tensors_.end(), "only live tensors are freed");
  Tensor& tensor = found->second;
  if (tensor.state == State::Resident) {
    std::vector<StreamPoint> after = tensor.waits;
    after.insert(after.end(), tensor.used.begin(), tensor.used.end());
    if (tensor.clean) after.push_back(tensor.copied);
    if (tensor.staged) memory_->release(tensor.encoded_block, std::vector<StreamPoint>(after), Sync::Stream);
    memory_->release(tensor.block, std::move(after), Sync::Stream);
  } else if (tensor.state == State::Encoded) {
    memory_->release(tensor.encoded_block, tensor.used, Sync::Stream);
  }
  release_elsewhere(tensor);
  std::erase_if(deferred_, [&](const Deferred& d) { return d.tensor == call.address; });
  tensors_.erase(found);
  forget_span();
}

void TensorMemory::before(const Op& op, OperandSpan span, std::int32_t stream, Time issued) {
  if (std::holds_alternative<op::Kernel>(op)) turns_->before_kernel(stream);
  if (std::holds_alternative<op::Collective>(op)) turns_->before_collective();
  retry_deferred(issued);
  bring_in(span, stream, issued);
  check_contents(op, span, false);
}

// All operands are there, at the latest now; the stream waits for those that are on their way.
void TensorMemory::bring_in(OperandSpan span, std::int32_t stream, Time issued) {
  const std::vector<Tensor*>& used = operands(span);
  for (Tensor* t : used) t->pinned = true;
  for (Tensor* t : used) {
    if (t->state == State::Encoded) decode(*t, issued);
    if (t->state != State::Resident)
      move_in(*t, {.forced = true, .needed_by = launched_, .action = t->action}, {}, issued);
    if (t->staged) decode_staged(*t);
    if ((!t->copied_in_use && !t->keep) || use_of(*t, span).writes) forget_copy(*t);
    wait_for_arrival(*t, stream);
  }
}

// Each stream that uses the tensor waits.
void TensorMemory::wait_for_arrival(Tensor& t, std::int32_t stream) {
  if (!t.waits.empty()) {
    for (const StreamPoint& point : t.waits) wait_on(point, stream);
    t.awaited = std::exchange(t.waits, {});
    t.awaited_on = stream;
  } else if (stream != t.awaited_on) {
    std::erase_if(t.awaited, [](const StreamPoint& p) { return p.reached(); });
    for (const StreamPoint& point : t.awaited) wait_on(point, stream);
  }
}

void TensorMemory::note_use(Tensor& t, const StreamPoint& end) {
  std::erase_if(t.used, [&](const StreamPoint& p) { return p.event == end.event || p.reached(); });
  t.used.push_back(end);
}

// `stream` waits for a copy or for another stream.
void TensorMemory::wait_on(const StreamPoint& point, std::int32_t stream) {
  if (point.reached()) return note_early(point);
  for (const SwapStreams* copies : {out_.get(), in_.get()})
    if (const Signal* signal = copies->of(point.event)) push_(signal->wait, stream, point.target);
  for (const auto& [id, signal] : signals_.streams())
    if (signal->event == point.event && id != stream) push_(signal->wait, stream, point.target);
}

// A copy in that was over before its user was even launched.
void TensorMemory::note_early(const StreamPoint& point) {
  if (in_->of(point.event) == nullptr) return;
  const Time arrived = point.event->completed_at[static_cast<std::size_t>(point.target - 1)];
  process_.actions.arrived(point.event->action_of(point.target), arrived, now());
}

void TensorMemory::after(const Op& op, OperandSpan span, std::int32_t stream, Time issued) {
  Signal& signal = signals_.of(stream);
  push_(signal.record, stream, 0);
  const StreamPoint end = signal.next();
  const bool kernel = std::holds_alternative<op::Kernel>(op);
  if (kernel) last_launch_ = end, last_stream_ = stream, ++launched_, ++program_kernels_;
  const std::vector<Tensor*>& used = operands(span);
  for (Tensor* t : used) {
    t->pinned = false;
    note_use(*t, end);
    t->idle_since = ++uses_;
    t->last_kernel = kernel ? kernel_ : kernel_ - 1;
  }
  if (!kernel || !in_iteration_) return;
  const double weight = seconds(std::get<op::Kernel>(op).duration);
  held_byte_s_ += static_cast<double>(memory_->held()) * weight;
  weight_s_ += weight;
  ++kernel_;
  speculate(used, issued);
}

// IBM LMS: what was reclaimed after this use an iteration before will be again.
void TensorMemory::speculate(const std::vector<Tensor*>& idle, Time issued) {
  if (!rules_.speculate) return;
  for (Tensor* t : idle)
    if (!t->clean && t->state == State::Resident && reclaimed_before_.contains({t->nth, t->last_kernel}))
      move_out(*t, {.release = false}, issued);
}

// --- kernels that run again

void TensorMemory::before_again(const Op& op, Time issued) {
  const auto& kernel = std::get<op::Kernel>(op);
  const auto all = std::span(process_.program.operands).subspan(kernel.operands.first, kernel.operands.count);
  if (!contents_.has_run(op) && !std::ranges::all_of(all, &Operand::managed))
    process_.services.stop(Outcome::ContentsLost, "GPU " + std::to_string(gpu_.index().value) + ": kernel " +
                                                      process_.program.strings[static_cast<std::size_t>(kernel.name)] +
                                                      " runs again before it has run");
  bring_in(kernel.operands, kernel.stream, issued);
  check_contents(op, kernel.operands, true);
}

void TensorMemory::after_again(const Op& op) {
  const auto& kernel = std::get<op::Kernel>(op);
  Signal& signal = signals_.of(kernel.stream);
  push_(signal.record, kernel.stream, 0);
  const StreamPoint end = signal.next();
  ++launched_;
  for (Tensor* t : operands(kernel.operands)) {
    t->pinned = false;
    note_use(*t, end);
    if (use_of(*t, kernel.operands).writes) t->awaited = {end}, t->awaited_on = kernel.stream;
  }
}

// --- contents

ContentsUse TensorMemory::use_of(const Tensor& tensor, OperandSpan span) const {
  ContentsUse use{.tensor = tensor.address, .overwrites = true};
  for (const Operand& o : std::span(process_.program.operands).subspan(span.first, span.count)) {
    if (o.managed() || o.address < tensor.address ||
        o.address >= tensor.address + static_cast<VirtualAddress>(tensor.bytes))
      continue;
    use.reads |= o.mode != trace::Mode::Write;
    use.writes |= o.mode != trace::Mode::Read;
    use.overwrites &= o.mode == trace::Mode::Write && o.address == tensor.address && o.bytes >= tensor.asked &&
                      trace::covers_its_range(o.pattern);
  }
  return use;
}

void TensorMemory::check_contents(const Op& op, OperandSpan span, bool again) {
  for (Tensor* t : operands(span)) {
    const ContentsUse use = use_of(*t, span);
    const std::string why = again ? contents_.use_again(op, use, t->contents) : contents_.use(&op, use, t->contents);
    if (!why.empty()) stop_for(op, *t, why);
  }
}

void TensorMemory::stop_for(const Op& op, const Tensor& tensor, const std::string& why) {
  if (const auto* kernel = std::get_if<op::Kernel>(&op)) stop_for(*kernel, tensor, why);
  stop("a copy or collective", tensor, why);
}

void TensorMemory::stop_for(const op::Kernel& kernel, const Tensor& tensor, const std::string& why) {
  stop("kernel " + process_.program.strings[static_cast<std::size_t>(kernel.name)], tensor, why);
}

void TensorMemory::stop(const std::string& user, const Tensor& tensor, const std::string& why) {
  process_.services.stop(Outcome::ContentsLost, "GPU " + std::to_string(gpu_.index().value) + ": " + user +
                                                    " uses a tensor of " + std::to_string(tensor.asked) +
                                                    " bytes, but " + why);
  std::abort();  // services.stop does not return
}

}  // namespace uvmsim
