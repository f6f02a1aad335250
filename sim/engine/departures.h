// When tensors leave the memory of a GPU, as far as the program says: for allocators that want to know.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "memory/allocator.h"

namespace uvmsim {

class Departures {
 public:
  Departures() = default;  // nothing is known

  // Of the tensors of `device`, in a program that may have been lowered under plans.
  Departures(std::span<const Op> ops, DeviceOrdinal device) {
    std::int64_t kernels = 0;
    const auto leaves = [&](const auto& op, VirtualAddress tensor) {
      if (op.device == device) after_[tensor].push_back(kernels);
    };
    for (const Op& op : ops) {
      if (const auto* k = std::get_if<op::Kernel>(&op)) kernels += k->device == device;
      if (const auto* f = std::get_if<op::FreeDevice>(&op)) leaves(*f, f->address);
      if (const auto* d = std::get_if<op::Drop>(&op)) leaves(*d, d->tensor);
      if (const auto* e = std::get_if<op::Encode>(&op)) leaves(*e, e->tensor);
      if (const auto* o = std::get_if<op::SwapOut>(&op); o != nullptr && !o->on_demand && !o->in_use)
        leaves(*o, o->tensor);
    }
  }

  // Kernels of the program from the `launched`-th on that are launched before `tensor` leaves; kForever: it stays.
  std::int64_t next(VirtualAddress tensor, std::int64_t launched) const {
    const auto found = after_.find(tensor);
    if (found == after_.end()) return AllocationRequest::kForever;
    const auto at = std::ranges::upper_bound(found->second, launched);
    return at == found->second.end() ? AllocationRequest::kForever : *at - launched;
  }

 private:
  std::unordered_map<VirtualAddress, std::vector<std::int64_t>> after_;  // kernels launched before, ascending
};

}  // namespace uvmsim
