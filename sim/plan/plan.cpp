#include "plan/plan.h"

namespace uvmsim {

std::vector<TensorInterval> intervals_of(const Action& action) {
  if (const auto* recompute = std::get_if<Recompute>(&action)) return recompute->tensors;
  if (std::holds_alternative<HostCompute>(action)) return {};
  return {std::visit(
      [](const auto& a) -> TensorInterval {
        if constexpr (requires { a.of; }) return a.of;
        return {};
      },
      action)};
}

}  // namespace uvmsim
