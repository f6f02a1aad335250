#include "uvm/prefetch/prefetch_policy.h"

namespace uvmsim {

PrefetchRegistry& prefetch_policies() {
  static PrefetchRegistry registry;
  return registry;
}

}  // namespace uvmsim
