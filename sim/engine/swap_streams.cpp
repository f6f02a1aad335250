#include "engine/swap_streams.h"

#include <algorithm>

#include "machine/memory_nodes.h"

namespace uvmsim {

SwapStreams::SwapStreams(GpuDevice& gpu, SwapStream::Direction direction, const std::string& owner,
                         LaunchSignals& signals, Coordination* coordination)
    : nearest_(static_cast<std::size_t>(nearest_dram(gpu.services().machine, gpu.index()))) {
  const auto engines = static_cast<std::size_t>(gpu.spec().copy.engines);
  std::size_t lanes = engines, shared = 0;  // nodes that share the engines
  for (const MemoryNode& node : gpu.services().machine.memories)
    lane_of_.push_back(node.own_dma ? lanes++ : shared++ % engines);
  const std::string name = direction == SwapStream::Direction::Out ? "a swap out of " : "a swap in of ";
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const std::string which = lane == 0 ? owner : owner + " stream " + std::to_string(lane);
    std::unique_ptr<Signal> signal = signals.make(name + which, 0, EventState::Kind::Swap);
    auto stream = std::make_unique<SwapStream>(gpu, direction, which, *signal->event, coordination);
    lanes_.push_back({std::move(signal), std::move(stream)});
  }
}

StreamPoint SwapStreams::push(Bytes size, Time issued, std::vector<StreamPoint> after, SwapStream::Need need,
                              SwapStream::Way way) {
  const std::size_t node = way.node < 0 ? nearest_ : static_cast<std::size_t>(way.node);
  return lanes_[lane_of_[node]].stream->push(size, issued, std::move(after), need, way);
}

const Signal* SwapStreams::of(const EventState* event) const {
  const auto lane = std::ranges::find(lanes_, event, [](const Lane& l) { return l.signal->event; });
  return lane == lanes_.end() ? nullptr : lane->signal.get();
}

std::vector<StreamPoint> SwapStreams::issued() const {
  std::vector<StreamPoint> points;
  for (const Lane& lane : lanes_) points.push_back(lane.signal->last());
  return points;
}

}  // namespace uvmsim
