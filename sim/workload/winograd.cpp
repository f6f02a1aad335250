#include "workload/winograd.h"

#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "workload/edit.h"

namespace uvmsim {
namespace {

// Bytes of every tensor, and which ones are weights.
struct Sizes {
  explicit Sizes(const trace::Trace& trace) {
    for (const trace::Record& record : trace.records)
      if (const auto* alloc = std::get_if<trace::Alloc>(&record)) {
        bytes[alloc->tensor] = alloc->bytes;
        if (alloc->kind < trace.header.kinds.size() && trace.header.kinds[alloc->kind] == "param")
          weights.insert(alloc->tensor);
      }
  }
  std::unordered_map<trace::TensorId, std::int64_t> bytes;
  std::unordered_set<trace::TensorId> weights;
};

// 0: Winograd does not do it.
std::int64_t workspace_of(const trace::Trace& trace, const trace::Kernel& kernel, const Sizes& sizes, bool forward) {
  std::int64_t read = 0, written = 0, weight = 0;
  for (std::uint32_t i = kernel.accesses.first; i < kernel.accesses.first + kernel.accesses.count; ++i) {
    const trace::Access& access = trace.accesses[i];
    const std::int64_t bytes = access.length < 0 ? sizes.bytes.at(access.tensor) : access.length;
    (sizes.weights.contains(access.tensor) ? weight : access.mode == trace::Mode::Read ? read : written) += bytes;
  }
  const bool shrinks = forward ? written < read : read < written;
  return weight == 0 || shrinks ? 0 : (read + written) * 36 / 16 + weight * 36 / 9;
}

}  // namespace

std::size_t add_winograd_variants(trace::Trace& trace) {
  const std::vector<KernelPlace> kernels = select(trace, [](const KernelPlace& k) {
    return k.name.ends_with("conv2d_k3_fwd") || k.name.ends_with("conv2d_k3_dgrad");
  });
  const Sizes sizes(trace);
  std::map<std::pair<std::int64_t, std::int64_t>, std::int32_t> lists;  // by duration and workspace
  std::size_t count = 0;
  for (const KernelPlace& k : kernels) {
    auto& kernel = std::get<trace::Kernel>(trace.records[k.record]);
    const std::int64_t workspace = workspace_of(trace, kernel, sizes, k.name.ends_with("_fwd"));
    if (workspace == 0) continue;
    const auto [found, added] =
        lists.try_emplace({kernel.duration_ns, workspace}, static_cast<std::int32_t>(trace.variants.size()));
    if (added) trace.variants.push_back({{kernel.duration_ns, workspace}});
    scale(trace, k.record, kWithoutWorkspace);
    kernel.variants = found->second;
    ++count;
  }
  return count;
}

}  // namespace uvmsim
