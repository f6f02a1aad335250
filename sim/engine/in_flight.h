// Frames whose pages the driver moves: whoever else services one meanwhile waits, as on the block's lock and tracker.
#pragma once

#include <set>
#include <utility>

#include "engine/wait.h"

namespace uvmsim {

// One for the machine: a frame of a process may be on its way to any GPU or to the host. An actor that holds several
// has taken them in ascending order, and waits for none below them; those that it takes pages away from
// (GpuDevice::perform) it holds in any order, and waits for no frame meanwhile.
class InFlight {
 public:
  void add(int va_space, FrameIndex frame) { frames_.emplace(va_space, frame); }
  void remove(int va_space, FrameIndex frame) {
    frames_.erase(frames_.find({va_space, frame}));
    landed_.notify_all();
  }
  bool contains(int va_space, FrameIndex frame) const { return frames_.contains({va_space, frame}); }
  // Blocks the caller while the frame is in flight.
  void wait_for(int va_space, FrameIndex frame) {
    while (contains(va_space, frame)) landed_.wait();
  }
  // The same for one who has added it: while others have it in flight, too.
  void wait_for_others(int va_space, FrameIndex frame) {
    while (frames_.count({va_space, frame}) > 1) landed_.wait();
  }

 private:
  std::multiset<std::pair<int, FrameIndex>> frames_;
  WaitList landed_{"pages in flight"};
};

}  // namespace uvmsim
