#include "machine/description.h"

namespace uvmsim {

const Description& describe_runtime_costs() {
  using R = RuntimeCosts;
  static const Description d =
      Describe<R>("time of CUDA runtime calls")
          .duration("kernel_launch", &R::kernel_launch, "host time of one launch or other asynchronous call")
          .duration("malloc_call", &R::malloc_call, "cudaMalloc, fixed part")
          .duration("malloc_large", &R::malloc_large, "cudaMalloc, added above 2 MiB")
          .duration("malloc_peer", &R::malloc_peer, "cudaMalloc, added per peer GPU with access")
          .duration("free_call", &R::free_call, "cudaFree, fixed part, once the device is idle")
          .duration("free_gib", &R::free_gib, "cudaFree, added per GiB freed (scrubbing)")
          .duration("malloc_managed_call", &R::malloc_managed_call, "cudaMallocManaged")
          .bytes("staging_chunk", &R::staging_chunk,
                 "copies between GPUs without peer access go through two host buffers of this size", {1, {}})
          .duration("staging_handover", &R::staging_handover,
                    "such a buffer passes from one GPU's copy engine to the other's")
          .build();
  return d;
}

const Description& describe_host() {
  using H = HostSpec;
  static const Description d =
      Describe<H>("the host")
          .text("name", &H::name, "the host's processors")
          .bytes("memory", &H::memory, "host memory; a run that needs more reports so", {1, {}})
          .bandwidth("touch_bandwidth", &H::touch_bandwidth, "one host thread reading or writing resident pages",
                     {1, {}})
          .section("runtime", &H::runtime, describe_runtime_costs(), "time of CUDA runtime calls")
          .build();
  return d;
}

const Description& describe_link() {
  using L = LinkSpec;
  static const Description d =
      Describe<L>("one full-duplex hop between two nodes: gpuN, switchN, socketN (a root complex), memoryN")
          .text("name", &L::name, "the link's name, unique in the machine")
          .text("kind", &L::kind, "what the link is", {"pcie", "nvlink", "socket", "memory"})
          .text("from", &L::from, "the end nearer to host memory")
          .text("to", &L::to, "the other end")
          .bandwidth("down", &L::down, "capacity from `from` to `to`", {1, {}})
          .bandwidth("up", &L::up, "capacity from `to` to `from`", {1, {}})
          .bandwidth("down_duplex", &L::down_duplex, "`down` while the other direction is busy; 0: the same")
          .bandwidth("up_duplex", &L::up_duplex, "`up` while the other direction is busy; 0: the same")
          .bandwidth("both", &L::both, "capacity of both directions together; 0: no such limit")
          .numbers("sharing_efficiency", &L::sharing_efficiency,
                   "share of the capacity that n flows of one direction reach together, for n = 1, 2, ...; the last "
                   "holds beyond; empty: always 1",
                   {0.01, 1})
          .build();
  return d;
}

const Description& describe_machine() {
  using M = MachineSection;
  static const Description d =
      Describe<M>("the machine: identical GPUs, a host, and the links between them")
          .text("name", &M::name, "the machine's name")
          .integer("gpus", &M::gpus, "number of GPUs; the first ones of the machine", {1, 64})
          .section("gpu", &M::gpu, describe_gpu(), "each GPU")
          .section("host", &M::host, describe_host(), "the host")
          .sections("links", &M::links, describe_link(), "the hops between GPUs, switches, sockets and memories")
          .text("peer_access", &M::peer_access,
                "which GPUs copy to each other directly; copies between others are staged in host memory. socket: over "
                "NVLink, or PCIe below one socket",
                {"none", "nvlink", "socket", "any"})
          .build();
  return d;
}

}  // namespace uvmsim
