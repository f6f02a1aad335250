#include <unordered_map>

#include "base/check.h"
#include "memory/allocator.h"

namespace uvmsim {
namespace {

// No framework allocator: every allocation is a cudaMalloc or cudaMallocManaged, every free a cudaFree.
class Cuda final : public Allocator {
 public:
  Cuda(UpstreamMemory& upstream, const NoOptions&) : upstream_(upstream) {}

  std::optional<VirtualAddress> allocate(const AllocationRequest& request) override {
    const std::optional<VirtualAddress> address = upstream_.allocate(request.size);
    if (!address) return std::nullopt;
    sizes_.emplace(*address, request.size);
    reserved_ += request.size;
    return address;
  }

  void free(VirtualAddress address) override {
    const auto found = sizes_.find(address);
    UVMSIM_CHECK(found != sizes_.end(), "only what was allocated is freed");
    reserved_ -= found->second;
    sizes_.erase(found);
    upstream_.free(address);
  }

  Bytes reserved() const override { return reserved_; }
  Bytes active() const override { return reserved_; }
  Bytes largest_free() const override { return {}; }

 private:
  UpstreamMemory& upstream_;
  std::unordered_map<VirtualAddress, Bytes> sizes_;
  Bytes reserved_;
};

[[maybe_unused]] const bool kRegistered =
    add_plug_in<Allocator, Cuda>({.name = "none",
                                  .summary = "every allocation is a driver allocation",
                                  .source = "CUDA runtime API: cudaMalloc, cudaFree"});

}  // namespace
}  // namespace uvmsim
