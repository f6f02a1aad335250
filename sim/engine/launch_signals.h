// Events of what a process issues on one GPU under plans: of the kernels by stream, and of others by name.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/stream.h"
#include "engine/swap_stream.h"

namespace uvmsim {

// An event, with the operations that record it and wait for it.
struct Signal {
  EventState* event = nullptr;
  Op record, wait;

  // The point that the next record makes; to be called where the record is issued.
  StreamPoint next() { return {event, ++event->recorded}; }
  // What is issued so far.
  StreamPoint last() const { return {event, event->recorded}; }
};

class LaunchSignals {
 public:
  // `device`: the program's number of the GPU.
  LaunchSignals(ProcessContext& process, DeviceOrdinal device)
      : process_(process), next_event_(-1 - 4096 * device.value) {}

  std::unique_ptr<Signal> make(const std::string& what, std::int32_t stream, EventState::Kind kind);
  // Of the work that is issued on a stream.
  Signal& of(std::int32_t stream);
  const std::map<std::int32_t, std::unique_ptr<Signal>>& streams() const { return streams_; }
  // The ends of all that is issued on streams.
  std::vector<StreamPoint> launched() const;

 private:
  ProcessContext& process_;
  std::int32_t next_event_;  // negative: programs' are not
  std::map<std::int32_t, std::unique_ptr<Signal>> streams_;
};

}  // namespace uvmsim
