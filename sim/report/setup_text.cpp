#include "base/join.h"
#include "report/number_text.h"
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

}  // namespace

std::string setup_text(const Setup& setup) {
  if (setup.gpus == 0) return "";
  std::string text = labelled("machine", setup.machine + ": " + std::to_string(setup.gpus) + " x " + setup.gpu + ", " +
                                             bytes_text(static_cast<double>(setup.usable_memory_bytes)) +
                                             " usable of " + bytes_text(static_cast<double>(setup.gpu_memory_bytes)));
  text += labelled("workload", setup.workload + (setup.parameters.empty() ? "" : ": ") + joined(setup.parameters, " ") +
                                   "; allocator " + setup.allocator + ", " + setup.memory + " memory");
  if (!setup.overrides.empty()) text += labelled("changed", joined(setup.overrides, " "));
  return text;
}

}  // namespace uvmsim
