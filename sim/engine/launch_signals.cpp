#include "engine/launch_signals.h"

namespace uvmsim {

std::unique_ptr<Signal> LaunchSignals::make(const std::string& what, std::int32_t stream, EventState::Kind kind) {
  const std::int32_t id = next_event_--;
  std::unique_ptr<EventState>& event = process_.events[id];
  event = std::make_unique<EventState>(what, kind);
  return std::make_unique<Signal>(
      Signal{.event = event.get(), .record = op::EventRecord{id, stream}, .wait = op::EventWait{id, stream}});
}

Signal& LaunchSignals::of(std::int32_t stream) {
  std::unique_ptr<Signal>& signal = streams_[stream];
  if (!signal) signal = make("the work on stream " + std::to_string(stream), stream, EventState::Kind::Swap);
  return *signal;
}

std::vector<StreamPoint> LaunchSignals::launched() const {
  std::vector<StreamPoint> points;
  for (const auto& [stream, signal] : streams_) points.push_back(signal->last());
  return points;
}

}  // namespace uvmsim
