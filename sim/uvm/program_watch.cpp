#include "uvm/program_watch.h"

#include <algorithm>

#include "trace/pattern.h"

namespace uvmsim {
namespace {

constexpr std::uint64_t kWhole = 0x10000;  // progress of an operation that is over
// How far the CTAs in flight spread around the point that faults show: assumed, a sixteenth of the kernel.
constexpr std::uint32_t kSpread = kWhole / 16;

bool is_sweep(const Operand& operand) {
  const trace::PatternFacts* facts = trace::find_pattern(operand.pattern);
  return operand.passes == 1 && facts != nullptr && facts->sweeps;
}

constexpr ProgramPosition position(std::uint32_t op, std::uint16_t progress) {
  return ProgramPosition{op} * kWhole + progress;
}

// What an operation does on `device`; nothing when it touches no memory there.
OperandSpan operands_on(const Op& op, DeviceOrdinal device) {
  if (const auto* k = std::get_if<op::Kernel>(&op)) return k->device == device ? k->operands : OperandSpan{};
  if (const auto* c = std::get_if<op::Copy>(&op)) return c->device == device ? c->operands : OperandSpan{};
  if (const auto* c = std::get_if<op::Collective>(&op)) return c->device == device ? c->operands : OperandSpan{};
  return {};
}

}  // namespace

void touched_frames(const Program& program, OperandSpan span, std::vector<FrameTouch>& out) {
  out.clear();
  for (std::uint32_t i = span.first; i < span.first + span.count; ++i) {
    const Operand& o = program.operands[i];
    if (!o.managed() || o.bytes <= 0) continue;
    const auto bytes = static_cast<std::uint64_t>(o.bytes);
    const FrameIndex last = frame_of(page_of(o.end() - 1));
    for (FrameIndex frame = frame_of(page_of(o.address)); frame <= last; ++frame) {
      const VirtualAddress begin = std::max(o.address, address_of(first_page_of(frame))) - o.address;
      const VirtualAddress end = std::min(begin + kBlockBytes, bytes);
      FrameTouch touch{frame, 0, 0xffff};
      if (is_sweep(o)) {
        touch.first = static_cast<std::uint16_t>(begin * (kWhole - 1) / bytes);
        touch.last = static_cast<std::uint16_t>(end * (kWhole - 1) / bytes);
      }
      out.push_back(touch);
    }
  }
  std::ranges::sort(out, {}, &FrameTouch::frame);
  std::size_t kept = 0;
  for (const FrameTouch& touch : out) {
    if (kept > 0 && out[kept - 1].frame == touch.frame) {
      out[kept - 1].first = std::min(out[kept - 1].first, touch.first);
      out[kept - 1].last = std::max(out[kept - 1].last, touch.last);
    } else {
      out[kept++] = touch;
    }
  }
  out.resize(kept);
}

ProgramWatch::ProgramWatch(const Program& program, DeviceOrdinal device, EvictionNeeds needs)
    : program_(program), needs_(needs) {
  if (needs.future) learn_future(device);
}

void ProgramWatch::learn_future(DeviceOrdinal device) {
  std::vector<FrameTouch> touches;
  for (std::uint32_t op = 0; op < program_.ops.size(); ++op) {
    touched_frames(program_, operands_on(program_.ops[op], device), touches);
    for (const FrameTouch& touch : touches) {
      if (!uses_.contains(touch.frame)) uses_.resize(touch.frame.value + 1);
      uses_[touch.frame].push_back({op, touch.first});
    }
  }
}

void ProgramWatch::start(std::uint32_t op) {
  op_ = op;
  progress_ = 0;
  emitted_ = 0;
  if (needs_.tensors) note_tensors(op);
  order_.clear();
  current_.clear();
  if (!needs_.accesses) return;
  OperandSpan operands;
  if (const auto* k = std::get_if<op::Kernel>(&program_.ops[op])) operands = k->operands;
  if (const auto* c = std::get_if<op::Copy>(&program_.ops[op])) operands = c->operands;
  if (const auto* c = std::get_if<op::Collective>(&program_.ops[op])) operands = c->operands;
  touched_frames(program_, operands, current_);
  order_ = current_;
  std::ranges::stable_sort(order_, {}, &FrameTouch::first);
}

void ProgramWatch::note_tensors(std::uint32_t op) {
  for (; events_ < program_.tensor_events.size(); ++events_) {
    const TensorEvent& event = program_.tensor_events[events_];
    if (event.before_op > op) break;
    if (event.kind == TensorEvent::kFreed)
      tensors_.erase(event.address);
    else
      tensors_[event.address] = {event.address + static_cast<VirtualAddress>(event.bytes), event.kind};
  }
}

const FrameTouch* ProgramWatch::find(FrameIndex frame) const {
  const auto found = std::ranges::lower_bound(current_, frame, {}, &FrameTouch::frame);
  return found == current_.end() || found->frame != frame ? nullptr : &*found;
}

bool ProgramWatch::get_to(FrameIndex frame) {
  const FrameTouch* touch = find(frame);
  if (touch == nullptr || touch->first <= progress_) return false;
  progress_ = touch->first;
  return true;
}

bool ProgramWatch::in_use(FrameIndex frame) const {
  const FrameTouch* touch = find(frame);
  return touch != nullptr && touch->last + kSpread >= progress_;
}

ProgramPosition ProgramWatch::next_use(FrameIndex frame) const {
  if (!uses_.contains(frame)) return kNeverUsed;
  const std::vector<Use>& uses = uses_[frame];
  const ProgramPosition here = position(op_, progress_);
  const auto next = std::ranges::upper_bound(uses, here, {}, [](const Use& u) { return position(u.op, u.first); });
  return next == uses.end() ? kNeverUsed : position(next->op, next->first);
}

PageMask ProgramWatch::inactive(FrameIndex frame) const {
  PageMask out = PageMask::all();
  const VirtualAddress begin = address_of(first_page_of(frame)), end = begin + kBlockBytes;
  auto tensor = tensors_.upper_bound(begin);
  if (tensor != tensors_.begin()) --tensor;
  for (; tensor != tensors_.end() && tensor->first < end; ++tensor) {
    if (tensor->second.end <= begin) continue;
    const PageNumber first = page_of(std::max(begin, tensor->first));
    const PageNumber outer = page_of(std::min(end, tensor->second.end) - 1) + 1;
    out.reset(PageRegion{first - first_page_of(frame), outer - first_page_of(frame)});
  }
  return out;
}

bool ProgramWatch::holds_only(FrameIndex frame, PageRegion pages, const std::vector<std::string>& kinds) const {
  const VirtualAddress begin = address_of(first_page_of(frame) + pages.first);
  const VirtualAddress end = address_of(first_page_of(frame) + pages.outer);
  bool any = false;
  auto tensor = tensors_.upper_bound(begin);
  if (tensor != tensors_.begin()) --tensor;
  for (; tensor != tensors_.end() && tensor->first < end; ++tensor) {
    if (tensor->second.end <= begin) continue;
    const auto kind = static_cast<std::size_t>(tensor->second.kind);
    if (kind >= program_.kinds.size() || std::ranges::find(kinds, program_.kinds[kind]) == kinds.end()) return false;
    any = true;
  }
  return any;
}

std::uint64_t ProgramWatch::execution_id(std::uint32_t op) const {
  const auto* kernel = std::get_if<op::Kernel>(&program_.ops[op]);
  if (kernel == nullptr) return 0;
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a over 64-bit words
  const auto add = [&hash](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3; };
  add(static_cast<std::uint64_t>(kernel->name));
  add(static_cast<std::uint64_t>(kernel->grid));
  for (std::uint32_t i = kernel->operands.first; i < kernel->operands.first + kernel->operands.count; ++i) {
    add(program_.operands[i].address);
    add(static_cast<std::uint64_t>(program_.operands[i].bytes));
  }
  return hash | 1;
}

}  // namespace uvmsim
