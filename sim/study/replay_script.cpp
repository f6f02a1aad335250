#include "study/replay_script.h"

#include <algorithm>

#include "base/check.h"
#include "base/user_error.h"

namespace uvmsim {
namespace {

std::int64_t whole_ns(Duration d) { return d.count() / 1000; }

int place_of(std::optional<DeviceOrdinal> processor) { return processor ? 0 : -1; }

class Script {
 public:
  Script(const Program& program, std::ostream& out) : program_(program), out_(out) {}

  void operator()(const op::MallocManaged& op) {
    if (op.bytes > 0) line("alloc", op.address, op.bytes, "m");
  }
  void operator()(const op::FreeManaged& op) {
    if (op.last) line("free", op.address);
  }
  void operator()(const op::MallocDevice& op) {
    only(op.device);
    line("alloc", op.address, op.bytes, "d");
  }
  void operator()(const op::FreeDevice& op) { line("free", op.address); }
  void operator()(const op::Kernel& op) {
    only(op.device);
    begin("kernel", op.stream, whole_ns(op.duration), whole_ns(op.gap));
    operands(op.operands);
  }
  void operator()(const op::Copy& op) {
    only(std::max(op.device, op.peer.value_or(op.device)));
    line("copy", static_cast<int>(op.direction), op.stream, op.bytes, op.pinned ? 1 : 0, op.asynchronous ? 1 : 0);
  }
  void operator()(const op::Prefetch& op) {
    line("prefetch", op.address, op.bytes, place_of(op.destination), op.stream);
  }
  void operator()(const op::Discard& op) { line("discard", op.address, op.bytes, op.stream, op.lazy ? 1 : 0); }
  void operator()(const op::Advise& op) { line("advise", op.address, op.bytes, op.advice, place_of(op.processor)); }
  void operator()(const op::Collective&) { throw UserError("replay script", "the program takes part in collectives"); }
  void operator()(const op::EventRecord& op) { line("record", op.event, op.stream); }
  void operator()(const op::EventWait& op) { line("wait", op.event, op.stream); }
  void operator()(const op::Synchronize& op) { line("sync", op.stream); }
  void operator()(const op::HostStep& op) {
    if (op.thread != 0) throw UserError("replay script", "the program has several host threads; a script has one");
    begin("host", whole_ns(op.duration));
    operands(op.operands);
  }
  void operator()(const op::Iteration& op) { line("iteration", op.index); }
  void operator()(const op::Phase&) {}
  template <class PlanOperation>
  void operator()(const PlanOperation&) {  // the programs of replays are on managed memory, which has none of them
    UVMSIM_CHECK(false, "a replayed program has no operation of a plan on explicit memory");
  }

 private:
  template <typename... Values>
  void begin(const char* verb, const Values&... values) {
    out_ << verb;
    ((out_ << ' ' << values), ...);
  }
  template <typename... Values>
  void line(const char* verb, const Values&... values) {
    begin(verb, values...);
    out_ << '\n';
  }

  void operands(const OperandSpan& span) {
    out_ << ' ' << span.count;
    for (std::uint32_t i = span.first; i < span.first + span.count; ++i) {
      const Operand& operand = program_.operands[i];
      out_ << ' ' << operand.address << ' ' << operand.bytes << ' ' << static_cast<int>(operand.mode) << ' '
           << operand.passes;
    }
    out_ << '\n';
  }

  static void only(DeviceOrdinal device) {
    if (device > DeviceOrdinal{})
      throw UserError("replay script", "the program uses more than one GPU; a script is for one");
  }

  const Program& program_;
  std::ostream& out_;
};

}  // namespace

void write_replay_script(const Program& program, const PlacementOptions& placement, std::ostream& out) {
  if (program.out_of_memory)
    throw UserError("replay script", "the program runs out of memory: " + program.out_of_memory_detail);
  std::string name = program.name;
  std::ranges::replace(name, '\n', ' ');
  out << "uvmreplay 1\nname " << name << "\nplacement " << placement.allocator << ' ' << placement.memory
      << "\nhost_op " << whole_ns(program.host_op) << "\n";
  Script script(program, out);
  for (const Op& op : program.ops) std::visit(script, op);
}

}  // namespace uvmsim
