// The machine's links as a network: each direction of each hop is one link, shared max-min fair.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/units.h"
#include "engine/flows.h"
#include "machine/link_tree.h"
#include "machine/machine.h"
#include "metrics/result.h"
#include "observe/observer.h"

namespace uvmsim {

class Fabric {
 public:
  // Makes the network of this process, hence once in it. `unlimited`: no link is ever shared.
  Fabric(const Machine& machine, bool unlimited);

  // Between a GPU and the host memory nearest to it: managed pages by its copy engines, the same in bulk (explicit
  // copies), or by its SMs ("zero-copy"); and between two GPUs (over NVLink when they have one).
  const Route& to_gpu(GpuIndex gpu) const { return to_gpu_[gpu]; }
  const Route& from_gpu(GpuIndex gpu) const { return from_gpu_[gpu]; }
  const Route& bulk_to_gpu(GpuIndex gpu) const { return bulk_to_gpu_[gpu]; }
  const Route& bulk_from_gpu(GpuIndex gpu) const { return bulk_from_gpu_[gpu]; }
  const Route& remote_to_gpu(GpuIndex gpu) const { return remote_to_gpu_[gpu]; }
  const Route& remote_from_gpu(GpuIndex gpu) const { return remote_from_gpu_[gpu]; }
  const Route& between(GpuIndex from, GpuIndex to) const { return between_.at({from, to}); }
  // Explicit copies between a GPU and a node of Machine::memories that is not its own memory. Whoever copies spends the
  // node's latency first.
  const Route& to_memory(GpuIndex gpu, int node) const { return memory_route(to_memory_, gpu, node); }
  const Route& from_memory(GpuIndex gpu, int node) const { return memory_route(from_memory_, gpu, node); }
  // Whether a path of NVLinks joins them, through NVLink switches at most.
  bool has_nvlink(GpuIndex a, GpuIndex b) const;
  // Whether the copy engines of one reach the other's memory (Machine::peer_access).
  bool peers(GpuIndex a, GpuIndex b) const;

  // Moves `size` bytes; blocks the calling actor until they are there. Returns how much longer it took than alone
  // on its links, in its memory node's queue too.
  Duration transfer(const Route& route, Bytes size);

  // Who moves them.
  Flows& flows() { return flows_; }

  // Tells `observer` about every link now, and about every transfer from now on.
  void watch(Observer& observer);

  // Bytes and busy time of every direction since the last `reset_usage`.
  std::vector<LinkDirectionResult> usage(Time since, Time until) const;
  void reset_usage(Time at);

 private:
  LinkDirection* add_direction(const std::string& name, const std::string& direction, const std::string& kind,
                               BytesPerSecond rate, bool unlimited);
  void add_link(const LinkSpec& spec, bool unlimited);
  void add_gpu(const Machine& machine, GpuIndex index);
  void add_memory(const Machine& machine, int index, bool unlimited);
  std::vector<LinkDirection*> along(const Machine& machine, const LinkPath& path) const;
  void limit(Route& route, const std::string& name, BytesPerSecond rate);
  void register_route(const Route& route);
  using MemoryRoutes = std::vector<IndexedVector<GpuIndex, Route>>;  // [node][gpu]
  static const Route& memory_route(const MemoryRoutes& routes, GpuIndex gpu, int node);
  void tell(const Route& route, Time start, Time end, Bytes size);

  Network& network_;
  Flows flows_;
  std::vector<std::unique_ptr<LinkDirection>> directions_;  // of links, down and up; then of memory nodes
  std::vector<std::unique_ptr<MoverRate>> movers_;
  std::vector<std::unique_ptr<Slots>> queues_;
  std::map<std::string, int> nodes_;  // hosts of the network
  IndexedVector<GpuIndex, Route> to_gpu_, from_gpu_, bulk_to_gpu_, bulk_from_gpu_, remote_to_gpu_, remote_from_gpu_;
  std::map<std::pair<GpuIndex, GpuIndex>, Route> between_;
  MemoryRoutes to_memory_, from_memory_;
  std::set<std::pair<GpuIndex, GpuIndex>> nvlinked_;
  std::string peer_access_;
  Observer* observer_ = nullptr;
};

}  // namespace uvmsim
