// The copy streams of one GPU in one direction, for explicit memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/launch_signals.h"
#include "engine/swap_stream.h"

namespace uvmsim {

// One for each of the GPU's copy engines (CopyEngineSpec::engines), at which the memory nodes take turns in the order
// of Machine::memories, and one for each node with a DMA engine of its own. Copies of one stream run one after the
// other, those of several next to each other.
class SwapStreams {
 public:
  SwapStreams(GpuDevice& gpu, SwapStream::Direction direction, const std::string& owner, LaunchSignals& signals,
              Coordination* coordination);

  // As SwapStream::push, on the stream of the node that `way` names.
  StreamPoint push(Bytes size, Time issued, std::vector<StreamPoint> after, SwapStream::Need need, SwapStream::Way way);
  // The signal of the stream whose copies `event` counts; nullptr: they are of none of these.
  const Signal* of(const EventState* event) const;
  // The ends of all that is issued.
  std::vector<StreamPoint> issued() const;

 private:
  struct Lane {
    std::unique_ptr<Signal> signal;
    std::unique_ptr<SwapStream> stream;
  };
  std::vector<Lane> lanes_;
  std::vector<std::size_t> lane_of_;  // by memory node
  const std::size_t nearest_;         // memory node
};

}  // namespace uvmsim
