#include "memory/allocator.h"

namespace uvmsim {

std::unique_ptr<Allocator> make_allocator(const std::string& name, UpstreamMemory& upstream) {
  const Registry<Allocator>::Entry* entry = allocators().find(name);
  UVMSIM_CHECK(entry != nullptr, "the allocator is registered");
  return entry->make()->make(upstream);
}

}  // namespace uvmsim
