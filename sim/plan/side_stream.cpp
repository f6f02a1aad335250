#include "plan/side_stream.h"

namespace uvmsim {

SideStream::SideStream(std::int32_t stream, std::int32_t first_event, int events)
    : stream_(stream), started_(first_event), first_end_(first_event + 1), events_(events) {}

std::int32_t SideStream::start(std::size_t at, std::int32_t compute, const std::vector<trace::Record>& calls,
                               std::vector<InsertedCall>& out, std::optional<std::int32_t> after) {
  const std::int32_t end = first_end_ + next_;
  next_ = (next_ + 1) % events_;
  out.push_back({at, trace::EventRecord{started_, compute}});
  out.push_back({at, trace::EventWait{started_, stream_}});
  if (after) out.push_back({at, trace::EventWait{*after, stream_}});
  for (const trace::Record& call : calls) out.push_back({at, call});
  out.push_back({at, trace::EventRecord{end, stream_}});
  return end;
}

}  // namespace uvmsim
