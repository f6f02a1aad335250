#include "uvm/gate/prefetch_gate.h"

namespace uvmsim {

PrefetchGateRegistry& prefetch_gates() {
  static PrefetchGateRegistry registry;
  return registry;
}

}  // namespace uvmsim
