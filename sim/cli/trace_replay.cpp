#include "cli/trace_replay.h"

#include <memory>
#include <ostream>

#include "base/user_error.h"
#include "cli/output_file.h"
#include "plan/lower_managed.h"
#include "plan/plan_json.h"
#include "study/experiment.h"
#include "study/replay_script.h"
#include "study/torch_hooks.h"
#include "trace/reader.h"

namespace uvmsim {
namespace {

struct ReplayArguments {
  std::string trace, plan, output;
  PlacementOptions placement;
};

// The trace with the plan's calls.
trace::Trace planned_trace(const ReplayArguments& arguments) {
  trace::Trace trace = trace::read_trace(arguments.trace);
  if (arguments.plan.empty()) return trace;
  const std::optional<std::string> text = read_text_file(arguments.plan);
  if (!text) throw UserError(arguments.plan, "cannot be read");
  const PlanFile file = read_plans(*text, arguments.plan);
  return insert_calls(trace, lower_managed(trace, DeviceOrdinal{}, file.plans));
}

template <class Write>
void write_to(const ReplayArguments& arguments, Console& console, Write&& write) {
  if (arguments.output.empty()) return write(console.out);
  OutputFile file(arguments.output, {arguments.trace, arguments.plan});
  write(file.stream());
  file.keep();
}

void write_script(const ReplayArguments& arguments, Console& console) {
  const Program program = place(planned_trace(arguments), arguments.placement);
  write_to(arguments, console, [&](std::ostream& out) { write_replay_script(program, arguments.placement, out); });
}

void write_hooks(const ReplayArguments& arguments, Console& console) {
  const trace::Trace trace = planned_trace(arguments);
  write_to(arguments, console, [&](std::ostream& out) { write_torch_hooks(trace, out); });
}

}  // namespace

void add_trace_hooks(Verb trace, Console& console) {
  auto arguments = std::make_shared<ReplayArguments>();
  Verb verb = trace.verb("torch-hooks", "turn the prefetches of a plan into hooks of PyTorch modules, in Python");
  verb.option("trace", arguments->trace, "a trace whose layers are the modules' names, plain or .zst").required();
  verb.option("--plan", arguments->plan, "make the calls of this plan for GPU 0 (sim/plan/PLAN.md)");
  verb.option("-o,--output", arguments->output, "write the Python module to this file; default: print it");
  verb.run([arguments, &console] { write_hooks(*arguments, console); });
}

void add_trace_replay(Verb trace, Console& console) {
  auto arguments = std::make_shared<ReplayArguments>();
  Verb verb = trace.verb("replay-script", "turn a trace into a script that capture/replay runs on a GPU");
  verb.option("trace", arguments->trace, "a trace of one GPU, plain or .zst").required();
  verb.option("--plan", arguments->plan, "make the calls of this plan for GPU 0 (sim/plan/PLAN.md)");
  verb.option("--allocator", arguments->placement.allocator, "a name from `uvmsim list allocator`").show_default();
  verb.option("--memory", arguments->placement.memory, "where to put tensors for which the trace does not say")
      .one_of({"managed", "device"})
      .show_default();
  verb.option("-o,--output", arguments->output, "write the script to this file; default: print it");
  verb.run([arguments, &console] { write_script(*arguments, console); });
}

}  // namespace uvmsim
