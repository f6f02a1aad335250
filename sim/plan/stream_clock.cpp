#include "plan/stream_clock.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace uvmsim {

StreamClock::StreamClock(const IterationGraph& graph, const LinkModel& links, Duration launch)
    : graph_(graph), links_(links), call_(std::max(graph.host_op, launch)), starts_(graph.kernels.size()) {}

std::vector<Time> StreamClock::run(Duration& length) {
  for (const GraphStep& step : graph_.steps) take(step);
  length = std::max(host_, finish(-1)) - Time{};
  return std::move(starts_);
}

// --- the host

void StreamClock::take(const GraphStep& step) {
  using Kind = GraphStep::Kind;
  const auto index = static_cast<std::size_t>(step.index);
  switch (step.kind) {
    case Kind::Kernel:
      host_ += call_ + graph_.kernels[index].gap;
      return push(graph_.kernels[index].stream, {.kind = step.kind, .index = index});
    case Kind::Copy:
      host_ += call_;
      push(graph_.copies[index].stream, {.kind = step.kind, .index = index});
      if (!graph_.copies[index].asynchronous) host_ = std::max(host_, finish(graph_.copies[index].stream));
      return;
    case Kind::Record:
      ++events_[graph_.events[index].event].issued;
      return push(graph_.events[index].stream, {.kind = step.kind, .event = graph_.events[index].event});
    case Kind::Wait: {
      const auto [event, stream] = graph_.events[index];
      return push(stream, {.kind = step.kind, .event = event, .recorded = events_[event].issued});
    }
    case Kind::Launch:
      host_ += call_ + graph_.host_steps[index].duration;
      return;
    case Kind::Host:  // other host threads run next to the one that launches
      if (graph_.host_steps[index].thread == 0) host_ += graph_.host_steps[index].duration;
      return;
    case Kind::Synchronize:
      host_ = std::max(host_, finish(step.index));
      return;
    case Kind::Allocate:
    case Kind::Free:
    case Kind::Collective:
      return;
  }
}

void StreamClock::push(std::int32_t stream, Work work) {
  work.issued = host_;
  work.number = issued_++;
  streams_[stream].waiting.push_back(work);
}

Time StreamClock::finish(std::int32_t stream) {
  Time done{};
  for (auto& [id, s] : streams_) {
    if (stream >= 0 && id != stream) continue;
    while (!s.waiting.empty()) work_on_first();
    done = std::max(done, s.free);
  }
  return done;
}

// --- the streams

// What is ready first is next: so no work that is ready later takes the GPU or a link before it.
void StreamClock::work_on_first() {
  Stream* first = nullptr;
  const auto turn = [](const Stream& s) { return std::pair(ready(s), s.waiting.front().number); };
  for (auto& [id, stream] : streams_)
    if (!stream.waiting.empty() && !blocked(stream.waiting.front()) &&
        (first == nullptr || turn(stream) < turn(*first)))
      first = &stream;
  UVMSIM_CHECK(first != nullptr, "streams wait for what is issued before");
  perform(*first);
}

// It waits for an event that its stream has not come to.
bool StreamClock::blocked(const Work& work) {
  return work.kind == GraphStep::Kind::Wait && events_[work.event].done.size() < work.recorded;
}

void StreamClock::perform(Stream& stream) {
  const Work work = stream.waiting.front();
  const Time ready = StreamClock::ready(stream);
  stream.waiting.pop_front();
  stream.free = ready;
  if (work.kind == GraphStep::Kind::Kernel) {
    starts_[work.index] = std::max(ready, gpu_);
    stream.free = gpu_ = starts_[work.index] + graph_.kernels[work.index].duration;
  } else if (work.kind == GraphStep::Kind::Copy) {
    copy(graph_.copies[work.index], stream);
  } else if (work.kind == GraphStep::Kind::Record) {
    events_[work.event].done.push_back(ready);
  } else if (work.recorded > 0) {
    stream.free = std::max(ready, events_[work.event].done[work.recorded - 1]);
  }
}

void StreamClock::copy(const GraphCopy& copy, Stream& stream) {
  if (copy.direction == trace::CopyDirection::HostToDevice)
    stream.free = in_ = std::max(stream.free, in_) + links_.in_time(copy.bytes);
  if (copy.direction == trace::CopyDirection::DeviceToHost)
    stream.free = out_ = std::max(stream.free, out_) + links_.out_time(copy.bytes);
}

}  // namespace uvmsim
