#include "base/user_error.h"
#include "workload/edit.h"
#include "workload/transform.h"

namespace uvmsim {
namespace {

struct ReconstructionOptions {
  double factor = 0.5;

  static const Description& description() {
    static const Description d =
        Describe<ReconstructionOptions>(
            "batch_norm_reconstruction: batch normalization split and merged with neighbours")
            .number("factor", &ReconstructionOptions::factor,
                    "what batch normalization takes, in times of what it took (Daydream, section 5.2)", {0, 1})
            .build();
    return d;
  }
};

// A batch normalization and the ReLU next to it become one kernel: in the forward pass the ReLU follows, in the
// backward pass it comes first.
class BatchNormReconstruction final : public With<Transform, ReconstructionOptions> {
 public:
  trace::Trace apply(trace::Trace trace) const override {
    const std::vector<KernelPlace> kernels = select(trace, [](const KernelPlace&) { return true; });
    std::vector<std::vector<std::size_t>> pairs;
    std::vector<std::int64_t> durations;
    std::vector<std::size_t> alone;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      if (!normalizes_batches(kernels[i])) continue;
      const std::size_t relu = neighbour(kernels, i);
      if (relu == i) {
        alone.push_back(kernels[i].record);
        continue;
      }
      scale(trace, kernels[i].record, options_.factor);
      durations.push_back(std::get<trace::Kernel>(trace.records[kernels[i].record]).duration_ns);
      pairs.push_back({kernels[std::min(i, relu)].record, kernels[std::max(i, relu)].record});
    }
    if (pairs.empty() && alone.empty())
      throw UserError(trace.header.name, "batch_norm_reconstruction selects nothing: no kernel normalizes batches");
    for (const std::size_t record : alone) scale(trace, record, options_.factor);
    fuse(trace, pairs, durations);
    note_transform(trace, "batch normalization reconstructed");
    return trace;
  }

 private:
  // Layer normalization is of the same class.
  static bool normalizes_batches(const KernelPlace& k) {
    return k.kernel_class == dnn::KernelClass::BatchNorm && k.name.find("layer") == std::string_view::npos;
  }
  static bool is_relu(const KernelPlace& k, std::string_view phase) {
    return k.name.find("relu") != std::string_view::npos && k.phase == phase;
  }
  // The kernel of the ReLU; `i` itself when there is none.
  static std::size_t neighbour(const std::vector<KernelPlace>& kernels, std::size_t i) {
    const std::string_view phase = kernels[i].phase;
    const bool backward = phase == "backward";
    if (backward) return i > 0 && is_relu(kernels[i - 1], phase) ? i - 1 : i;
    return i + 1 < kernels.size() && is_relu(kernels[i + 1], phase) ? i + 1 : i;
  }
};

const bool kRegistered = add_plug_in<Transform, BatchNormReconstruction>(
    {.name = "batch_norm_reconstruction",
     .summary = "batch normalization in half the time, and the ReLU next to it in no time",
     .source = "Jung et al., Restructuring Batch Normalization, SysML 2019; Daydream, ATC 2020, section 5.2",
     .on_hardware = "kernels of one's own: cuDNN has none that are split like this"});

}  // namespace
}  // namespace uvmsim
