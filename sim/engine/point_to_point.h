// Sends and receives: two GPUs meet, and the bytes go from one to the other. Nobody else takes part.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>

#include "engine/gpu_device.h"

namespace uvmsim {

// The n-th send that the host issues in a communicator from one GPU to another meets the n-th receive there. Both start
// when both are there (NCCL's rendezvous; that small ones could go ahead into a buffer is not modelled) and end when
// the bytes have arrived.
class PointToPoint {
 public:
  // The host issues a send or a receive between machine GPUs: its number.
  std::int64_t issue_send(std::int32_t communicator, GpuIndex from, GpuIndex to) {
    return channel(communicator, from, to).sends++;
  }
  std::int64_t issue_receive(std::int32_t communicator, GpuIndex from, GpuIndex to) {
    return channel(communicator, from, to).receives++;
  }
  // Block the calling actor until the bytes are there.
  void send(std::int32_t communicator, GpuDevice& from, GpuDevice& to, Bytes size, std::int64_t number);
  void receive(std::int32_t communicator, GpuIndex from, GpuIndex to, std::int64_t number);

 private:
  struct Channel {
    Channel(const std::string& from, const std::string& to)
        : sender("a receive on " + to + " from " + from), receiver("a send on " + from + " to " + to) {}
    std::int64_t sends = 0, receives = 0;  // issued
    std::set<std::int64_t> ready;          // receives that are there
    std::int64_t moved = 0;
    WaitList sender, receiver;  // what each waits for
  };
  Channel& channel(std::int32_t communicator, GpuIndex from, GpuIndex to);

  std::map<std::tuple<std::int32_t, GpuIndex, GpuIndex>, std::unique_ptr<Channel>> channels_;
};

}  // namespace uvmsim
