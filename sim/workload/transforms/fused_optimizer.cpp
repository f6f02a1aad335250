#include <map>
#include <tuple>

#include "base/user_error.h"
#include "workload/edit.h"
#include "workload/transform.h"

namespace uvmsim {
namespace {

// The optimizer's kernels of each iteration, device and stream become one, which takes as long as all of them: what is
// gained is their launches.
struct FusedOptimizer final : Transform {
  trace::Trace apply(trace::Trace trace) const override {
    std::map<std::tuple<std::size_t, int, std::int32_t>, std::vector<std::size_t>> steps;
    for (const KernelPlace& k :
         select(trace, [](const KernelPlace& p) { return p.kernel_class == dnn::KernelClass::Optimizer; })) {
      const auto& kernel = std::get<trace::Kernel>(trace.records[k.record]);
      steps[{k.iteration, kernel.device, kernel.stream}].push_back(k.record);
    }
    std::vector<std::vector<std::size_t>> groups;
    std::vector<std::int64_t> durations;
    for (auto& [where, kernels] : steps) {
      if (kernels.size() < 2) continue;
      std::int64_t& sum = durations.emplace_back(0);
      for (const std::size_t k : kernels) sum += std::get<trace::Kernel>(trace.records[k]).duration_ns;
      groups.push_back(std::move(kernels));
    }
    if (groups.empty())
      throw UserError(trace.header.name, "fused_optimizer selects nothing: no iteration has two optimizer kernels");
    fuse(trace, groups, durations);
    note_transform(trace, "optimizer kernels fused");
    return trace;
  }
};

const bool kRegistered = add_plug_in<Transform, FusedOptimizer>(
    {.name = "fused_optimizer",
     .summary = "one kernel for the optimizer's step of an iteration, as long as all that it replaces",
     .source = "Zhu et al., Daydream, ATC 2020, section 5.1: FusedAdam of NVIDIA Apex",
     .on_hardware = "apex.optimizers.FusedAdam, or fused=True of torch.optim"});

}  // namespace
}  // namespace uvmsim
