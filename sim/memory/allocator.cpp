#include "memory/allocator.h"

namespace uvmsim {

AllocatorRegistry& allocators() {
  static AllocatorRegistry registry;
  return registry;
}

const Description& NoAllocatorOptions::description() {
  static const Description d{.doc = "no parameters", .fields = {}};
  return d;
}

std::unique_ptr<Allocator> make_allocator(const std::string& name, UpstreamMemory& upstream) {
  const AllocatorRegistry::Entry* entry = allocators().find(name);
  UVMSIM_CHECK(entry != nullptr, "the allocator is registered");
  return entry->make()->make(upstream);
}

}  // namespace uvmsim
