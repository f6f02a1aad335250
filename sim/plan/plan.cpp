#include "plan/plan.h"

#include <algorithm>

namespace uvmsim {
namespace {

Call move(const Disposition& d, const Transfer& transfer, bool to_cpu) {
  return {.kind = Call::Kind::Prefetch,
          .kernel = transfer.at.on == Trigger::On::Access ? d.next_use : transfer.at.kernel,
          .after = transfer.at.on == Trigger::On::AfterKernel,
          .tensor = d.tensor,
          .to_cpu = to_cpu,
          .stream = Call::Stream::Side};
}

}  // namespace

std::vector<Call> calls_of(const Plan& plan) {
  std::vector<Call> calls = plan.calls;
  for (const Disposition& d : plan.dispositions) {
    if (d.kind == Disposition::Kind::Swap) {
      calls.push_back(move(d, d.out, true));
      Call in = move(d, d.in, false);
      if (d.in.at.on == Trigger::On::Access) in.stream = Call::Stream::Kernel;
      if (in.stream == Call::Stream::Side && d.in.sync != Sync::None) in.awaited_by = d.next_use;
      calls.push_back(in);
    } else if (d.kind == Disposition::Kind::Drop) {
      calls.push_back({.kind = Call::Kind::Discard,
                       .kernel = d.out.at.kernel,
                       .after = d.out.at.on == Trigger::On::AfterKernel,
                       .tensor = d.tensor});
    }
  }
  std::ranges::stable_sort(
      calls, [](const Call& a, const Call& b) { return std::pair(a.kernel, a.after) < std::pair(b.kernel, b.after); });
  return calls;
}

}  // namespace uvmsim
