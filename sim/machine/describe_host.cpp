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
          .duration("busy_prefetch_call", &R::busy_prefetch_call,
                    "cudaMemPrefetchAsync on a busy stream, where a thread of the driver works on it when its turn has "
                    "come: the fixed part, where gpu.driver_costs.migrate_call is not more")
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
          .integer("cores", &H::cores,
                   "CPU cores of each server; what plans give the CPU to do shares them over its GPUs: codecs by host "
                   "threads, one "
                   "thread for each GPU, and optimizer steps; 0: as many as there are threads",
                   {0, 4096})
          .bytes("memory", &H::memory, "host memory; a run that needs more reports so", {1, {}})
          .bytes(
              "page_size", &H::page_size,
              "PAGE_SIZE of the host's kernel, by which the driver moves, maps and prices memory: 4 KiB, or 64 KiB as "
              "POWER9, Grace and many Arm servers have",
              {static_cast<double>(kPageBytes), static_cast<double>(kBigPageBytes)})
          .bandwidth("touch_bandwidth", &H::touch_bandwidth, "one host thread reading or writing resident pages",
                     {1, {}})
          .text("membind", &H::membind,
                "name of the host memory that managed and system pages are in, as numactl --membind puts them, near or "
                "far; "
                "\"\": the nearest to each GPU")
          .section("runtime", &H::runtime, describe_runtime_costs(), "time of CUDA runtime calls")
          .build();
  return d;
}

const Description& describe_link() {
  using L = LinkSpec;
  static const Description d =
      Describe<L>(
          "one full-duplex hop between two nodes: gpuN, switchN, socketN (a root complex), memoryN, nvmN, ssdN, cxlN")
          .text("name", &L::name, "the link's name, unique in the machine")
          .text("kind", &L::kind, "what the link is; network: between servers",
                {"pcie", "nvlink", "c2c", "socket", "memory", "network"})
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

const Description& describe_memory_node() {
  using M = MemoryNode;
  static const Description d =
      Describe<M>("memory that tensors can go to, besides a GPU's own")
          .text("name", &M::name, "the memory's name, unique in the machine")
          .text("kind", &M::kind, "what the memory is; gpu: that of a GPU, for the other GPUs",
                {"dram", "nvm", "ssd", "cxl", "gpu"})
          .text("node", &M::node, "which end of a link it is: memoryN for dram, else nvmN, ssdN, cxlN or gpuN")
          .bytes("capacity", &M::capacity, "how many bytes it holds", {1, {}})
          .bandwidth("read", &M::read, "rate towards all GPUs together; 0: only the links limit it")
          .bandwidth("write", &M::write, "rate from all GPUs together; 0: only the links limit it")
          .duration("latency", &M::latency, "time of each transfer before its bytes flow")
          .integer("queue_depth", &M::queue_depth,
                   "transfers whose bytes flow at a time, in both directions; 0: any number", {0, 65536})
          .flag("own_dma", &M::own_dma,
                "an ssd that moves tensors by a DMA engine of its own (GPUDirect Storage), next to what the GPU copies")
          .bandwidth("kernel_read", &M::kernel_read,
                     "rate at which one GPU's kernels read it in place; 0: they cannot, or for dram as "
                     "machine.gpu.remote_bandwidth")
          .bandwidth("kernel_write", &M::kernel_write, "rate at which one GPU's kernels write it in place; 0: likewise")
          .build();
  return d;
}

const Description& describe_machine() {
  using M = MachineSection;
  static const Description d =
      Describe<M>("the machine: identical GPUs, a host, and the links between them")
          .text("name", &M::name, "the machine's name")
          .integer("gpus", &M::gpus, "number of GPUs; the first ones of the machine", {1, 64})
          .text("use", &M::use,
                "which of them the job gets, \"0+4\": they become GPU 0, 1, ... in this order, and the others are not "
                "there; not given: all")
          .section("gpu", &M::gpu, describe_gpu(), "each GPU")
          .section("host", &M::host, describe_host(), "the host")
          .sections("links", &M::links, describe_link(), "the hops between GPUs, switches, sockets and memories")
          .sections(
              "memories", &M::memories, describe_memory_node(),
              "memory that tensors can go to, besides the GPUs' own; host memory that is not listed is added: dram "
              "that shares machine.host.memory")
          .text("peer_access", &M::peer_access,
                "which GPUs copy to each other directly; copies between others are staged in host memory. socket: over "
                "NVLink, or PCIe below one socket",
                {"none", "nvlink", "socket", "any"})
          .build();
  return d;
}

}  // namespace uvmsim
