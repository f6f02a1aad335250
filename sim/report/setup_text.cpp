#include "base/join.h"
#include "base/number_text.h"
#include "report/table.h"
#include "report/text.h"

namespace uvmsim {
namespace {

constexpr std::size_t kLabel = 11, kWidth = 98;

// `text` behind `label`, in as many lines as it takes.
std::string labelled(const std::string& label, const std::string& text) {
  std::string lines = wrapped(text, std::string(kLabel + 1, ' '), kWidth);
  return lines.replace(0, label.size() + 2, "  " + label);
}

std::string operands_text(const Setup& setup) {
  const KnownOperands& known = *setup.operands;
  const double share = known.kernel_s > 0 ? known.known_s / known.kernel_s : 0;
  std::string text = labelled("operands", known.status + ", known for " + percent_text(share) +
                                              " of the kernels' time, " + std::to_string(known.known_kernels) + " of " +
                                              std::to_string(known.kernels) + " kernels");
  if (!known.enough)
    text += labelled("verdict",
                     "UNKNOWN: kernels without operands touch no memory, so how slow this is cannot be said. "
                     "What it asks for and reserves is a bound on what it needs. To know more, " +
                         known.remedy);
  if (known.faulty_durations)
    text += labelled("durations",
                     "contain page faults and migrations of the recorded run, which are simulated once "
                     "more: times are upper bounds, and no time in core is known");
  if (!known.recorded_on.empty())
    text += labelled("durations", "are those of the GPU that recorded it, " + known.recorded_on +
                                      ", and not of this one; scale them with `uvmsim trace retarget`");
  return text;
}

}  // namespace

std::string setup_text(const Setup& setup) {
  if (setup.gpus == 0) return "";
  std::string text = labelled("machine", setup.machine + ": " + std::to_string(setup.gpus) + " x " + setup.gpu + ", " +
                                             bytes_text(setup.usable_memory_bytes) + " usable of " +
                                             bytes_text(setup.gpu_memory_bytes));
  text += labelled("workload", setup.workload + (setup.parameters.empty() ? "" : ": ") + joined(setup.parameters, " ") +
                                   "; allocator " + setup.allocator + ", " + setup.memory + " memory");
  if (!setup.overrides.empty()) text += labelled("changed", joined(setup.overrides, " "));
  if (setup.operands) text += operands_text(setup);
  return text;
}

}  // namespace uvmsim
