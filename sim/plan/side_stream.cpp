#include "plan/side_stream.h"

#include "plan/tensor_lives.h"

namespace uvmsim {

SideStream::SideStream(const trace::Trace& trace, int slots)
    : stream_(first_free_stream(trace)), started_(first_free_event(trace)), arrived_(started_ + 1), slots_(slots) {}

void SideStream::place(std::size_t start, std::size_t end, std::int32_t compute,
                       const std::vector<trace::Record>& calls, std::vector<InsertedCall>& out) {
  const std::int32_t arrived = arrived_ + next_;
  next_ = (next_ + 1) % slots_;
  out.push_back({start, trace::EventRecord{started_, compute}});
  out.push_back({start, trace::EventWait{started_, stream_}});
  for (const trace::Record& call : calls) out.push_back({start, call});
  out.push_back({start, trace::EventRecord{arrived, stream_}});
  out.push_back({end, trace::EventWait{arrived, compute}});
}

}  // namespace uvmsim
