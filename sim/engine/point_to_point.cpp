#include "engine/point_to_point.h"

#include "engine/staged_copy.h"

namespace uvmsim {
namespace {

void move(GpuDevice& from, GpuDevice& to, Bytes size) {
  Fabric& fabric = from.services().fabric;
  if (fabric.peers(from.index(), to.index()))
    fabric.transfer(fabric.between(from.index(), to.index()), size);
  else
    staged_copy(from, to, size);
}

}  // namespace

PointToPoint::Channel& PointToPoint::channel(std::int32_t communicator, GpuIndex from, GpuIndex to) {
  std::unique_ptr<Channel>& c = channels_[{communicator, from, to}];
  if (!c)
    c = std::make_unique<Channel>(
        "gpu" + std::to_string(from.value),
        "gpu" + std::to_string(to.value) + " in communicator " + std::to_string(communicator));
  return *c;
}

void PointToPoint::send(std::int32_t communicator, GpuDevice& from, GpuDevice& to, Bytes size, std::int64_t number) {
  Channel& c = channel(communicator, from.index(), to.index());
  while (c.moved < number || !c.ready.contains(number)) c.sender.wait();
  move(from, to, size);
  c.ready.erase(number);
  ++c.moved;
  c.receiver.notify_all();
  c.sender.notify_all();
}

void PointToPoint::receive(std::int32_t communicator, GpuIndex from, GpuIndex to, std::int64_t number) {
  Channel& c = channel(communicator, from, to);
  c.ready.insert(number);
  c.sender.notify_all();
  while (c.moved <= number) c.receiver.wait();
}

}  // namespace uvmsim
