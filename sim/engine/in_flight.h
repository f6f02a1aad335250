// Frames whose pages the driver moves beside faults: whoever services one meanwhile waits, as on the block's tracker.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/wait.h"

namespace uvmsim {

class InFlight {
 public:
  explicit InFlight(const std::string& gpu) : landed_("pages of " + gpu + " in flight") {}
  void add(int va_space, FrameIndex frame) { frames_.emplace_back(va_space, frame); }
  void remove(int va_space, FrameIndex frame) {
    frames_.erase(std::ranges::find(frames_, std::pair(va_space, frame)));
    landed_.notify_all();
  }
  bool contains(int va_space, FrameIndex frame) const {
    return std::ranges::find(frames_, std::pair(va_space, frame)) != frames_.end();
  }
  // Blocks the caller while the frame is in flight.
  void wait_for(int va_space, FrameIndex frame) {
    while (contains(va_space, frame)) landed_.wait();
  }

 private:
  std::vector<std::pair<int, FrameIndex>> frames_;  // a few
  WaitList landed_;
};

}  // namespace uvmsim
