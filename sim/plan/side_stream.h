// Calls alongside the kernels: on a stream of their own, held back and waited for by events.
#pragma once

#include <optional>
#include <vector>

#include "plan/call_policy.h"

namespace uvmsim {

// Two side streams of one program take different streams and events (first_free_stream, first_free_event).
class SideStream {
 public:
  // `events`: how many groups of calls may be under way or waited for at once. Takes that many events and one more,
  // from `first_event` on.
  SideStream(std::int32_t stream, std::int32_t first_event, int events);

  std::int32_t stream() const { return stream_; }

  // Issues `calls`, made for stream(), before record `at`; they start when the stream `compute` gets there, and not
  // before the event `after`. Returns the event of their end, for an EventWait.
  std::int32_t start(std::size_t at, std::int32_t compute, const std::vector<trace::Record>& calls,
                     std::vector<InsertedCall>& out, std::optional<std::int32_t> after = {});

 private:
  std::int32_t stream_, started_, first_end_;
  int events_, next_ = 0;
};

}  // namespace uvmsim
