#include "memory/allocator.h"

namespace uvmsim {
namespace {

// Never frees.
class Scratch final : public Allocator {
 public:
  Scratch(UpstreamMemory& upstream, const NoOptions&) : upstream_(upstream) {}
  std::optional<VirtualAddress> allocate(const AllocationRequest& request) override {
    reserved_ += request.size;
    return upstream_.allocate(request.size);
  }
  void free(VirtualAddress) override {}
  Bytes reserved() const override { return reserved_; }
  Bytes active() const override { return reserved_; }
  Bytes largest_free() const override { return {}; }

 private:
  UpstreamMemory& upstream_;
  Bytes reserved_;
};

const bool kRegistered =
    add_plug_in<Allocator, Scratch>({.name = "scratch", .summary = "an example", .source = "a test"});

}  // namespace
}  // namespace uvmsim
