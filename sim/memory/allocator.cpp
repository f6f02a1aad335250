#include "memory/allocator.h"

namespace uvmsim {

AllocatorRegistry& allocators() {
  static AllocatorRegistry registry;
  return registry;
}

}  // namespace uvmsim
