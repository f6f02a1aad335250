// Prefetches ahead of the kernels that need them: on a stream of their own, held back and waited for by events.
#pragma once

#include <vector>

#include "plan/call_policy.h"

namespace uvmsim {

// Places calls so that they start when an earlier kernel starts, beside it, and end before a later kernel starts.
class SideStream {
 public:
  // `slots`: how many kernels may have calls under way at once.
  SideStream(const trace::Trace& trace, int slots);

  std::int32_t stream() const { return stream_; }
  // `calls` (issued on stream()) start with the kernel at record `start`; the kernel at `end` waits for them.
  // `compute`: the stream of both kernels. Call in ascending order of `end`.
  void place(std::size_t start, std::size_t end, std::int32_t compute, const std::vector<trace::Record>& calls,
             std::vector<InsertedCall>& out);

 private:
  std::int32_t stream_, started_, arrived_;  // an event each; `arrived_` is the first of `slots_`
  int slots_, next_ = 0;
};

}  // namespace uvmsim
