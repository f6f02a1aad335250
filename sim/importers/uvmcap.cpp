// What capture/ records: a uvmcap file (the CUDA driver's calls and the GPU's work), a uvmcap-torch file (PyTorch's
// operators and tensors), or both of one run. Together, a kernel has the tensors of its operator that its arguments
// point at; a uvmcap file alone gives a superset, every allocation that a kernel's arguments point into.
#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "importers/importer.h"
#include "importers/operator_kernels.h"
#include "importers/uvmcap_events.h"
#include "trace/faulty_durations.h"

namespace uvmsim {
namespace {

using Kind = CaptureEvent::Kind;

// An event of one of the two files, or work without a call.
struct Moment {
  std::int64_t time = 0;
  const Capture* of = nullptr;
  const CaptureEvent* event = nullptr;
  const CaptureWork* work = nullptr;  // without a call
};

// An asynchronous call is recorded when it begins: the time to the next contains it, and simulations charge it by
// themselves (machine.host.runtime.kernel_launch of the bundled machines).
constexpr std::int64_t kChargedForACall = 5000;

// The program's own share of host time, in a recording of PyTorch's operators. Between two of them it is mostly the
// recorder's: an iteration of GPT-2 that takes 100 ms was recorded in 1 s, of which 75 ms lie in operators.
class OperatorTime {
 public:
  explicit OperatorTime(const Capture* torch) {
    if (torch == nullptr) return;
    std::vector<std::pair<std::int64_t, std::int64_t>> spans;
    for (const CaptureEvent& event : torch->events)
      if (event.kind == Kind::Operator) spans.emplace_back(event.time, event.end);
    std::ranges::sort(spans);
    for (const auto& [begin, end] : spans) {
      if (spans_.empty() || begin > spans_.back().end)
        spans_.push_back({begin, end, total_to(begin)});
      else
        spans_.back().end = std::max(spans_.back().end, end);
    }
  }

  // Of the time from `begin` to `end`: all of it before the first operator, and what lies in operators from then on.
  std::int64_t between(std::int64_t begin, std::int64_t end) const { return total_to(end) - total_to(begin); }

 private:
  struct Span {
    std::int64_t begin = 0, end = 0;
    std::int64_t before = 0;  // what counts of the time to `begin`
  };

  std::int64_t total_to(std::int64_t time) const {
    const auto after = std::ranges::upper_bound(spans_, time, {}, &Span::begin);
    if (after == spans_.begin()) return time;
    const Span& last = *std::prev(after);
    return last.before + std::min(time, last.end) - last.begin;
  }

  std::vector<Span> spans_;
};

// Which memory of its operator a kernel touches, by its arguments. A default one knows nothing.
class KernelPointers {
 public:
  KernelPointers() = default;
  // The arguments of the kernel and, sorted, those of all kernels of the operator.
  KernelPointers(std::span<const std::uint64_t> of_kernel, std::span<const std::uint64_t> of_operator)
      : kernel_(of_kernel), operator_(of_operator) {}

  // Whether the kernel points there. What no kernel of its operator points at is found some other way: all touch it.
  bool touches(std::uint64_t address, std::int64_t bytes) const {
    const std::uint64_t end = address + static_cast<std::uint64_t>(bytes);
    const auto there = [&](std::uint64_t pointer) { return pointer >= address && pointer < end; };
    return std::ranges::any_of(kernel_, there) || std::ranges::none_of(operator_, there);
  }

  struct Part {
    std::int64_t offset = 0, bytes = 0;
  };
  // The parts of a workspace that the kernel touches: from where it points to where any kernel of the operator does.
  // `taken`: for this operator, which touches it if nobody is known to.
  std::vector<Part> parts(std::uint64_t address, std::int64_t bytes, bool taken) const {
    const std::uint64_t end = address + static_cast<std::uint64_t>(bytes);
    const auto first = std::ranges::lower_bound(operator_, address), last = std::ranges::lower_bound(operator_, end);
    if (first == last) return taken ? std::vector<Part>{{0, bytes}} : std::vector<Part>{};
    std::vector<Part> parts;
    for (auto from = first; from != last; ++from) {
      if (std::ranges::find(kernel_, *from) == kernel_.end()) continue;
      const std::uint64_t until = std::next(from) == last ? end : *std::next(from);
      parts.push_back({static_cast<std::int64_t>(*from - address), static_cast<std::int64_t>(until - *from)});
    }
    return parts;
  }

 private:
  std::span<const std::uint64_t> kernel_, operator_;
};

class Conversion {
 public:
  Conversion(const Capture* cuda, const Capture* torch, ImportBuilder& into)
      : cuda_(cuda), torch_(torch), into_(into), operator_time_(torch), operator_kernels_(into) {}

  void run() {
    describe();
    std::vector<Moment> moments;
    if (torch_ != nullptr)
      for (const CaptureEvent& event : torch_->events) moments.push_back({event.time, torch_, &event, nullptr});
    if (cuda_ != nullptr) add_cuda(moments);
    std::ranges::stable_sort(moments, {}, &Moment::time);
    if (torch_ != nullptr && cuda_ != nullptr) collect_pointers();
    for (const Moment& moment : moments) {
      if (moment.event != nullptr)
        put(*moment.of, *moment.event);
      else
        work(*moment.work, nullptr, {});
    }
  }

 private:
  void add_cuda(std::vector<Moment>& moments) const {
    std::map<std::int64_t, bool> called;
    for (const CaptureEvent& event : cuda_->events) {
      moments.push_back({event.time, cuda_, &event, nullptr});
      called[event.call] = true;
    }
    for (const std::int64_t call : cuda_->calls_with_work) {
      if (called.contains(call)) continue;
      for (const CaptureWork& one : cuda_->work.at(call)) {
        moments.push_back({one.start, cuda_, nullptr, &one});
        into_.unknown("kernels and copies: no call is recorded; they stand where they began");
      }
    }
  }

  void collect_pointers() {
    for (const CaptureEvent& event : cuda_->events) {
      if (event.kind != Kind::Launch || event.op < 0) continue;
      std::vector<std::uint64_t>& all = pointers_of_operator_[event.op];
      for (const std::uint64_t pointer : pointers_of(event)) all.push_back(pointer);
    }
    for (auto& [op, all] : pointers_of_operator_) {
      std::ranges::sort(all);
      all.erase(std::ranges::unique(all).begin(), all.end());
    }
  }

  void describe() {
    trace::Header& header = into_.header();
    header.provenance = cuda_ == nullptr ? "uvmcap-torch" : torch_ == nullptr ? "uvmcap" : "uvmcap with uvmcap-torch";
    for (const Capture* capture : {cuda_, torch_})
      if (capture != nullptr && !capture->program.empty()) header.provenance += ", " + capture->program;
    header.operands_status = torch_ == nullptr ? "superset" : "exact";
    if (cuda_ == nullptr) {
      header.durations = "the host's time of each operator; no GPU was recorded";
      return;
    }
    header.durations = "measured by CUPTI in the recorded run";
    const auto may_fault = [](const CaptureEvent& event) {
      return event.kind == Kind::Allocate && event.space == static_cast<std::int8_t>(trace::Space::Managed);
    };
    if (std::ranges::any_of(cuda_->events, may_fault)) header.durations += "; " + std::string(trace::kFaultyDurations);
    header.durations_status = "measured";
    for (const auto& [device, info] : cuda_->devices) into_.device(device, info);
  }

  void put(const Capture& of, const CaptureEvent& event) {
    if (&of == cuda_) pass(clock_.call(event.time, event.end), event.time);
    convert(of, event);
    if (is_asynchronous(event.kind)) gap_ -= kChargedForACall;
  }

  void convert(const Capture& of, const CaptureEvent& event) {
    switch (event.kind) {
      case Kind::Allocate:
        return allocate(event);
      case Kind::Free:
        if (torch_ == nullptr && !into_.free_at(event.address))
          into_.unknown("frees of what was not recorded as allocated: left out");
        return;
      case Kind::Launch:
      case Kind::Graph:
      case Kind::Copy:
      case Kind::Set:
        return called(event);
      case Kind::Prefetch:
      case Kind::Discard:
      case Kind::Advise:
        return hint(event);
      case Kind::Synchronize:
        return synchronize(event);
      case Kind::Record:
        event_stream_[event.event] = event.stream;
        return into_.record_event(static_cast<std::uint64_t>(event.event), 0, event.stream);
      case Kind::Wait:
        if (!into_.wait_event(static_cast<std::uint64_t>(event.event), 0, event.stream))
          into_.unknown("waits for an event that was not recorded: left out");
        return;
      case Kind::Mark:
      case Kind::Phase:
        return into_.phase(string(of, event));
      case Kind::Tensor:
        return tensor(event);
      case Kind::Workspace:
        return workspace(event);
      case Kind::Gone:
        std::erase_if(workspaces_, [&](const CaptureEvent* each) { return each->call == event.call; });
        if (const auto found = tensors_.find(event.call); found != tensors_.end() && into_.is_live(found->second))
          into_.free(found->second);
        return;
      case Kind::Operator:
        return operation(event);
      case Kind::Layer:
        return into_.layer(string(of, event));
      case Kind::Iteration:
        return into_.iteration();
    }
  }

  static bool is_asynchronous(Kind kind) {
    return kind == Kind::Launch || kind == Kind::Graph || kind == Kind::Copy || kind == Kind::Set ||
           kind == Kind::Prefetch || kind == Kind::Discard || kind == Kind::Record || kind == Kind::Wait;
  }

  // Host time of the program before what comes next. Calls that came faster than a simulation charges for them leave
  // less.
  std::int64_t take_gap() {
    const std::int64_t gap = std::max<std::int64_t>(0, gap_);
    gap_ -= gap;
    return gap;
  }

  // Host time `since` the call before, up to `now`.
  void pass(std::int64_t since, std::int64_t now) {
    const std::int64_t own = operator_time_.between(now - since, now);
    gap_ += own;
    if (own < since) into_.unknown("spans of host time between operators: left out, most of it is the recorder's");
  }

  static const std::string& string(const Capture& of, const CaptureEvent& event) {
    return of.strings.at(static_cast<std::size_t>(event.name));
  }

  void allocate(const CaptureEvent& event) {
    if (torch_ != nullptr)
      return into_.unknown("allocations of the driver: left out, PyTorch's tensors stand for them");
    if (event.bytes == 0) return into_.unknown("allocations of 0 bytes: left out");
    into_.allocate_at(event.address, event.bytes,
                      {.device = event.device, .stream = event.stream, .space = event.space});
  }

  // Tensors of the host have no place on a GPU; where no GPU was recorded, they stand for those that would.
  void tensor(const CaptureEvent& event) {
    if (event.bytes == 0 || (event.device < 0 && cuda_ != nullptr)) return;
    if (tensors_.contains(event.call))
      throw trace::ParseError{"tensor " + std::to_string(event.call) + " was there before"};
    const auto kind = torch_->kinds.find(event.call);
    if (event.address != 0) addresses_[event.call] = event.address;
    tensors_[event.call] =
        into_.allocate(event.bytes, {.kind = kind == torch_->kinds.end() ? TensorKind::Other : kind->second,
                                     .device = std::max<std::int64_t>(0, event.device)});
  }

  void workspace(const CaptureEvent& event) {
    if (event.bytes == 0) return;
    tensors_[event.call] = into_.allocate(event.bytes, {.kind = TensorKind::Workspace, .device = event.device});
    workspaces_.push_back(&event);
  }

  // What an operator reads and writes, and the workspaces that it has taken and not given back: as far as `pointers`
  // says that the kernel at hand does, too.
  std::vector<trace::Access> operands_of(const CaptureEvent& op, const KernelPointers& pointers = {}) const {
    std::vector<trace::Access> accesses;
    const auto add = [&](std::int64_t tensor, trace::Mode mode, std::int64_t offset, std::int64_t bytes) {
      const auto found = tensors_.find(tensor);
      if (found == tensors_.end()) return;
      if (const auto access = into_.access(found->second, mode, offset, bytes)) accesses.push_back(*access);
    };
    for (std::uint32_t i = op.first; i < op.first + op.count; ++i) {
      const CaptureRange& range = torch_->ranges[i];
      const auto address = addresses_.find(range.tensor);
      if (address == addresses_.end() ||
          pointers.touches(address->second + static_cast<std::uint64_t>(range.offset), range.length))
        add(range.tensor, range.mode, range.offset, range.length);
    }
    for (const CaptureEvent* each : workspaces_) {
      const bool taken = each->time >= op.time && each->time <= op.end;
      for (const auto& [offset, bytes] : pointers.parts(each->address, each->bytes, taken))
        add(each->call, trace::Mode::ReadWrite, offset, bytes);
    }
    return accesses;
  }

  std::vector<trace::Access> operands_of_work(const CaptureWork& one, const CaptureEvent& call,
                                              const CaptureEvent& op) {
    if (one.kind != CaptureWork::Kind::Kernel) return operands_of(op);
    const std::string& kernel = cuda_->strings.at(static_cast<std::size_t>(one.name));
    KernelPointers pointers;
    if (call.knows_pointers && !OperatorKernels::takes_lists(kernel))
      pointers = {pointers_of(call), pointers_of_operator_[op.call]};
    return operator_kernels_.operands(
        {.call = op.call, .op = string(*torch_, op), .kernel = kernel, .grid = one.grid, .block = one.block},
        operands_of(op, pointers));
  }

  std::span<const std::uint64_t> pointers_of(const CaptureEvent& call) const {
    return std::span(cuda_->pointers).subspan(call.first, call.count);
  }

  void operation(const CaptureEvent& op) {
    operators_[op.call] = &op;
    if (cuda_ != nullptr) return;
    const std::int64_t time = op.end - op.time;
    into_.kernel({.name = string(*torch_, op), .duration_ns = std::max<std::int64_t>(0, time)}, operands_of(op));
  }

  void called(const CaptureEvent& call) {
    const auto found = cuda_->work.find(call.call);
    if (found == cuda_->work.end())
      return into_.unknown("launches and copies: nothing of the GPU is recorded; left out");
    for (const CaptureWork& one : found->second) work(one, &call, operands(one, call));
  }

  std::vector<trace::Access> operands(const CaptureWork& one, const CaptureEvent& call) {
    const auto op = operators_.find(call.op);
    if (torch_ != nullptr) {
      if (op != operators_.end()) return operands_of_work(one, call, *op->second);
      into_.unknown("kernels and copies outside of any operator: they touch nothing");
      return {};
    }
    std::vector<trace::Access> accesses;
    const auto add = [&](std::uint64_t address, trace::Mode mode, std::int64_t bytes) {
      const auto place = into_.find(address);
      if (!place) return;
      const auto access = into_.access(place->tensor, mode, bytes < 0 ? 0 : place->offset, bytes);
      if (access) accesses.push_back(*access);
    };
    if (one.kind != CaptureWork::Kind::Kernel) {
      if (call.kind == Kind::Copy) add(call.source, trace::Mode::Read, call.bytes);
      if (call.kind == Kind::Copy || call.kind == Kind::Set) add(call.address, trace::Mode::Write, call.bytes);
      return accesses;
    }
    if (!call.knows_pointers) into_.unknown("kernels: their arguments could not be read; they touch nothing");
    for (std::uint32_t i = call.first; i < call.first + call.count; ++i)
      add(cuda_->pointers[i], trace::Mode::ReadWrite, -1);
    return accesses;
  }

  void work(const CaptureWork& one, const CaptureEvent* call, std::vector<trace::Access> operands) {
    if (one.kind == CaptureWork::Kind::Kernel) {
      into_.kernel({.name = cuda_->strings.at(static_cast<std::size_t>(one.name)),
                    .device = one.device,
                    .stream = one.stream,
                    .duration_ns = one.duration,
                    .gap_ns = call == nullptr ? 0 : take_gap(),
                    .grid = product_of(one.grid),
                    .block = one.block,
                    .registers = one.registers,
                    .shared_memory = one.shared_memory},
                   std::move(operands));
      return;
    }
    if (one.kind == CaptureWork::Kind::Copy && one.direction == trace::CopyDirection::Memset)
      return into_.unknown("copies within the host or of unknown kind: left out");
    into_.copy({.direction = one.direction,
                .device = one.device,
                .peer = one.peer,
                .stream = one.stream,
                .bytes = one.bytes,
                .pinned = one.pinned,
                .asynchronous = one.asynchronous || one.kind == CaptureWork::Kind::Set},
               std::move(operands));
  }

  void hint(const CaptureEvent& event) {
    const auto place = torch_ != nullptr ? std::nullopt : into_.find(event.address);
    const auto range =
        place ? into_.access(place->tensor, trace::Mode::Read, place->offset, event.bytes) : std::nullopt;
    if (!range) return into_.unknown("prefetches, discards and advice on what was not recorded as allocated: left out");
    if (event.kind == Kind::Advise) return into_.advise(*range, event.advice, event.to);
    if (event.kind == Kind::Discard) into_.discard(*range, 0, event.stream);
    if (event.kind == Kind::Prefetch || event.to >= -1) into_.prefetch(*range, event.to, 0, event.stream);
  }

  void synchronize(const CaptureEvent& event) {
    if (const std::int64_t busy = take_gap(); busy > 0) into_.host_step(busy);
    gap_ = 0;
    if (event.of == CaptureEvent::Of::Device) return into_.synchronize_device();
    if (event.of == CaptureEvent::Of::Stream) return into_.synchronize(0, event.stream);
    const auto stream = event_stream_.find(event.event);
    if (stream == event_stream_.end()) return into_.unknown("waits for an event that was not recorded: left out");
    into_.unknown("waits of the host for an event: it waits for the event's stream");
    into_.synchronize(0, stream->second);
  }

  const Capture *cuda_, *torch_;
  ImportBuilder& into_;
  const OperatorTime operator_time_;
  OperatorKernels operator_kernels_;
  HostClock clock_;
  // Host time since the last kernel's launch, less what a simulation charges for the calls since.
  std::int64_t gap_ = 0;
  std::unordered_map<std::int64_t, trace::TensorId> tensors_;                          // by PyTorch's id
  std::unordered_map<std::int64_t, std::uint64_t> addresses_;                          // of tensors, by PyTorch's id
  std::unordered_map<std::int64_t, std::vector<std::uint64_t>> pointers_of_operator_;  // that its kernels are given
  std::vector<const CaptureEvent*> workspaces_;                                        // that are taken
  std::unordered_map<std::int64_t, const CaptureEvent*> operators_;                    // by id
  std::unordered_map<std::int64_t, std::int64_t> event_stream_;                        // where it was recorded last
};

class UvmcapImporter final : public Importer {
 public:
  std::string role(std::string_view head) const override {
    const std::string_view line = head.substr(0, head.find('\n'));
    if (line.find("\"k\":\"header\"") == line.npos && line.find("\"k\": \"header\"") == line.npos) return "";
    if (line.find("\"uvmcap_torch\"") != line.npos) return "torch";
    return line.find("\"uvmcap\"") != line.npos ? "cuda" : "";
  }

  void import(const std::vector<ImportPart>& parts, ImportBuilder& into, trace::ErrorList& errors) const override {
    std::optional<Capture> cuda, torch;
    for (const ImportPart& part : parts) {
      std::optional<Capture>& slot = part.role == "cuda" ? cuda : torch;
      if (slot) {
        errors.add(part.file->name(),
                   "is a second file of its kind; expected one uvmcap and one uvmcap-torch file of a process");
        continue;
      }
      slot = read_capture(*part.file, part.role == "torch", into, errors);
    }
    if (!errors.empty()) return;
    Conversion(cuda ? &*cuda : nullptr, torch ? &*torch : nullptr, into).run();
  }
};

const bool kRegistered = add_plug_in<Importer, UvmcapImporter>(
    {.name = "uvmcap",
     .summary = "recordings of capture/: uvmcap, uvmcap-torch, or both of one process",
     .source = "capture/FORMAT.md"});

}  // namespace
}  // namespace uvmsim
