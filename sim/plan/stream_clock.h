// An iteration in time, if memory did not matter.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "plan/iteration_graph.h"
#include "plan/link_model.h"

namespace uvmsim {

// The host issues the steps of one device in order; its streams work on theirs one after the other. Kernels of all
// streams run one at a time, first come, first served, as a GPU runs kernels that fill it (engine/stream.cpp); copies
// one at a time in each direction. Streams wait for events, the host for streams. Collectives take no time.
class StreamClock {
 public:
  // `launch`: host time of one asynchronous call, at least.
  StreamClock(const IterationGraph& graph, const LinkModel& links, Duration launch);

  // The start of each kernel; `length` receives the time until all is done. Once.
  std::vector<Time> run(Duration& length);

 private:
  struct Work {
    GraphStep::Kind kind = GraphStep::Kind::Kernel;
    std::size_t index = 0;  // of a kernel or copy
    std::int32_t event = 0;
    std::size_t recorded = 0;  // of a Wait: so often, when it is issued
    Time issued{};
    std::int64_t number = 0;  // in the order of issue
  };
  struct Stream {
    std::deque<Work> waiting;
    Time free{};  // what it has worked on is done
  };
  struct Event {
    std::size_t issued = 0;       // records
    std::vector<Time> done = {};  // of those that the stream has come to
  };

  void take(const GraphStep& step);
  void push(std::int32_t stream, Work work);
  // Works until `stream`, -1: any, has nothing left. When that is.
  Time finish(std::int32_t stream);
  void work_on_first();
  void perform(Stream& stream);
  bool blocked(const Work& work);
  static Time ready(const Stream& stream) { return std::max(stream.free, stream.waiting.front().issued); }
  void copy(const GraphCopy& copy, Stream& stream);

  const IterationGraph& graph_;
  const LinkModel links_;
  const Duration call_;
  std::map<std::int32_t, Stream> streams_;
  std::map<std::int32_t, Event> events_;
  std::vector<Time> starts_;
  Time host_{}, gpu_{}, out_{}, in_{};  // when each is free
  std::int64_t issued_ = 0;
};

}  // namespace uvmsim
