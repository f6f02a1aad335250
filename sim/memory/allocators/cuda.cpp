#include <unordered_map>

#include "base/check.h"
#include "memory/allocator.h"

namespace uvmsim {
namespace {

// No framework allocator: every allocation is a cudaMalloc or cudaMallocManaged, every free a cudaFree.
class Cuda final : public Allocator {
 public:
  explicit Cuda(UpstreamMemory& upstream) : upstream_(upstream) {}

  std::optional<VirtualAddress> allocate(Bytes size, int /*stream*/) override {
    const std::optional<VirtualAddress> address = upstream_.allocate(size);
    if (!address) return std::nullopt;
    sizes_.emplace(*address, size);
    reserved_ += size;
    return address;
  }

  void free(VirtualAddress address) override {
    const auto found = sizes_.find(address);
    UVMSIM_CHECK(found != sizes_.end(), "only what was allocated is freed");
    reserved_ -= found->second;
    sizes_.erase(found);
    upstream_.free(address);
  }

  std::int64_t reserved_bytes() const override { return reserved_.value; }

 private:
  UpstreamMemory& upstream_;
  std::unordered_map<VirtualAddress, Bytes> sizes_;
  Bytes reserved_;
};

[[maybe_unused]] const bool kRegistered =
    allocators().add({"none", "every allocation is a driver allocation", "CUDA runtime API: cudaMalloc, cudaFree",
                      [](UpstreamMemory& upstream) { return std::make_unique<Cuda>(upstream); }});

}  // namespace
}  // namespace uvmsim
