#include "study/watched_tensors.h"

#include <algorithm>
#include <map>

namespace uvmsim {
namespace {

constexpr std::size_t kWatched = 160;

std::string label_of(const Program& program, const TensorPlacement& tensor) {
  std::string label = tensor.kind.empty() ? "tensor" : tensor.kind;
  if (tensor.layer >= 0) return label + " of " + program.strings[static_cast<std::size_t>(tensor.layer)];
  return tensor.kind.empty() ? label + " " + std::to_string(tensor.id) : label;
}

struct LastIteration {
  std::int64_t index = ObservationSetup::kWholeRun;
  std::size_t first_op = 0;
};

LastIteration last_iteration(const Program& program) {
  LastIteration last;
  for (std::size_t i = 0; i < program.ops.size(); ++i)
    if (const auto* iteration = std::get_if<op::Iteration>(&program.ops[i])) last = {iteration->index, i};
  return last;
}

// Managed tensors on device 0 that kernels use from `first_op` on, in order of allocation.
std::vector<std::int32_t> used_tensors(const Program& program, std::size_t first_op) {
  std::vector<bool> used(program.tensors.size());
  for (std::size_t i = first_op; i < program.ops.size(); ++i) {
    const auto* kernel = std::get_if<op::Kernel>(&program.ops[i]);
    if (kernel == nullptr || kernel->device != DeviceOrdinal{}) continue;
    for (std::uint32_t o = kernel->operands.first; o < kernel->operands.first + kernel->operands.count; ++o)
      if (program.operands[o].managed()) used[static_cast<std::size_t>(program.operand_tensors[o])] = true;
  }
  std::vector<std::int32_t> tensors;
  for (std::size_t t = 0; t < used.size(); ++t)
    if (used[t]) tensors.push_back(static_cast<std::int32_t>(t));
  return tensors;
}

}  // namespace

ObservationSetup watched_tensors(const Program& program, GpuIndex gpu) {
  ObservationSetup setup;
  setup.gpu = gpu;
  std::map<std::string, std::int32_t> known;
  for (const TensorPlacement& tensor : program.tensors) {
    const std::string label = label_of(program, tensor);
    const auto [it, is_new] = known.emplace(label, static_cast<std::int32_t>(setup.labels.size()));
    if (is_new) setup.labels.push_back(label);
    setup.label_of.push_back(it->second);
  }
  const auto bytes_of = [&](std::int32_t t) { return program.tensors[static_cast<std::size_t>(t)].bytes; };
  const LastIteration last = last_iteration(program);
  setup.iteration = last.index;
  std::vector<std::int32_t> tensors = used_tensors(program, last.first_op);

  std::int64_t all = 0, large = 0;
  for (const std::int32_t t : tensors) all += bytes_of(t);
  std::ranges::stable_sort(tensors, std::greater{}, bytes_of);
  std::size_t kept = 0;
  while (kept < tensors.size() && large < all - all / 10) large += bytes_of(tensors[kept++]);
  tensors.resize(kept);
  std::ranges::sort(tensors);

  const std::size_t count = std::min(kept, kWatched);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t tensor = tensors[i * kept / count];
    const TensorPlacement& placed = program.tensors[static_cast<std::size_t>(tensor)];
    setup.watched.push_back({placed.address, placed.address + static_cast<VirtualAddress>(placed.bytes), tensor});
  }
  return setup;
}

}  // namespace uvmsim
