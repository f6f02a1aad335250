#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "base/check.h"
#include "memory/allocator.h"

namespace uvmsim {
namespace {

constexpr std::int64_t kSmallest = 512;

struct SizeClassOptions {
  std::int64_t classes_per_doubling = 1;

  static const Description& description() {
    static const Description d =
        Describe<SizeClassOptions>("size_class")
            .integer("classes_per_doubling", &SizeClassOptions::classes_per_doubling,
                     "sizes of objects between one power of two and the next: more of them waste less inside an "
                     "object and share fewer objects",
                     {1, 64})
            .build();
    return d;
  }
};

// A pool of objects of fixed sizes, as SwapAdvisor cuts GPU memory: an allocation takes a free object of the smallest
// class that holds it, the lowest address first. A class without a free object gets one more from the driver; when
// that has none left, the smallest larger free object serves. Objects are never cut, merged or returned, so the number
// per class is what the workload needs at most.
class SizeClass final : public Allocator {
 public:
  using Options = SizeClassOptions;
  SizeClass(UpstreamMemory& upstream, const SizeClassOptions& options)
      : upstream_(upstream), steps_(options.classes_per_doubling) {}

  std::optional<VirtualAddress> allocate(const AllocationRequest& request) override {
    const std::int64_t size = class_of(request.size.value);
    auto object = free_.lower_bound({size, 0});
    if (object == free_.end() || object->first != size) {
      if (const auto fresh = upstream_.allocate({size})) {
        reserved_ += size;
        object = free_.insert({size, *fresh}).first;
      }
    }
    if (object == free_.end()) return std::nullopt;
    const auto [object_size, address] = *object;
    free_.erase(object);
    used_[address] = object_size;
    active_ += object_size;
    return address;
  }

  void free(VirtualAddress address) override {
    const auto found = used_.find(address);
    UVMSIM_CHECK(found != used_.end(), "only what was allocated is freed");
    active_ -= found->second;
    free_.insert({found->second, address});
    used_.erase(found);
  }

  Bytes reserved() const override { return {reserved_}; }
  Bytes active() const override { return {active_}; }
  Bytes largest_free() const override { return {free_.empty() ? 0 : free_.rbegin()->first}; }

 private:
  // The smallest class of at least `size`: a power of two times 1 + i / steps, in whole 512 B.
  std::int64_t class_of(std::int64_t size) const {
    std::int64_t power = kSmallest;
    while (power * 2 <= size) power *= 2;
    for (std::int64_t i = 0; i < steps_; ++i) {
      const std::int64_t candidate = (power + power / steps_ * i + kSmallest - 1) / kSmallest * kSmallest;
      if (candidate >= size) return candidate;
    }
    return power * 2;
  }

  UpstreamMemory& upstream_;
  std::int64_t steps_;
  std::set<std::pair<std::int64_t, VirtualAddress>> free_;
  std::unordered_map<VirtualAddress, std::int64_t> used_;
  std::int64_t reserved_ = 0, active_ = 0;
};

[[maybe_unused]] const bool kRegistered = add_plug_in<Allocator, SizeClass>(
    {.name = "size_class",
     .summary = "objects of fixed sizes, as many per class as the workload needs at once",
     .source = "SwapAdvisor, ASPLOS 2020"});

}  // namespace
}  // namespace uvmsim
