// Gates answer "is this cudaMemPrefetchAsync worth making now?", at run time, for programs that prefetch only when
// needed. One file each in uvm/gate/. What a program can decide before it runs is a call policy's business.
#pragma once

#include <cstdint>
#include <memory>

#include "base/registry.h"

namespace uvmsim {

// One per process. Kernels are counted from 0 in each iteration, over all streams, in host issue order.
class PrefetchGate : public PlugIn {
 public:
  static constexpr KindText kKind{
      .name = "gate", .noun = "gate", .use = "the \"when\" of workload.call_options.operand_prefetch"};

  // The host comes to a prefetch before its launch of `kernel`. False: it makes no call, at no cost.
  virtual bool calls(std::int64_t kernel) = 0;
  // The stream comes to that prefetch; `missing`: some page of its range is not mapped on the GPU. False: it is
  // dropped, at no further cost.
  virtual bool executes(std::int64_t kernel, bool missing) = 0;
  // Whether calls cost the host nothing, because the gate drops the needless ones before they are made: no real
  // program knows that much.
  virtual bool foresees() const { return false; }
  // A kernel has run, with that many fault batches.
  virtual void kernel_done(std::int64_t kernel, std::int64_t fault_batches) = 0;
};

inline Registry<PrefetchGate>& prefetch_gates() { return registry<PrefetchGate>(); }

}  // namespace uvmsim
