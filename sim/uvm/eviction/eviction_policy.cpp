#include "uvm/eviction/eviction_policy.h"

namespace uvmsim {

EvictionRegistry& eviction_policies() {
  static EvictionRegistry registry;
  return registry;
}

}  // namespace uvmsim
