#include <algorithm>

#include "base/user_error.h"
#include "workload/edit.h"
#include "workload/retarget.h"
#include "workload/transform.h"

namespace uvmsim {
namespace {

struct AmpOptions {
  double matrix_speedup = 3, other_speedup = 2;
  bool memory = true;

  static const Description& description() {
    static const Description d =
        Describe<AmpOptions>("amp: mixed precision")
            .number("matrix_speedup", &AmpOptions::matrix_speedup,
                    "of matrix products and convolutions, by tensor cores (Daydream, section 5.1)", {0.001, 1000})
            .number("other_speedup", &AmpOptions::other_speedup,
                    "of all other kernels, by half the bytes (Daydream, section 5.1)", {0.001, 1000})
            .flag("memory", &AmpOptions::memory,
                  "activations and their gradients have half the bytes (not in Daydream)")
            .build();
    return d;
  }
};

// Casts are left out. Weights stay in single precision, without the copies in half precision.
class Amp final : public With<Transform, AmpOptions> {
 public:
  trace::Trace apply(trace::Trace trace) const override {
    const std::vector<KernelPlace> kernels =
        select(trace, [](const KernelPlace& k) { return k.kernel_class != dnn::KernelClass::Optimizer; });
    if (std::ranges::none_of(kernels, [](const KernelPlace& k) { return multiplies_matrices(k.kernel_class); }))
      throw UserError(trace.header.name, "amp selects nothing: there is no matrix product or convolution");
    if (on_tensor_cores(trace, kernels))
      throw UserError(trace.header.name, "amp selects nothing: kernels run on tensor cores already");
    for (const KernelPlace& k : kernels)
      scale(trace, k.record,
            1 / (multiplies_matrices(k.kernel_class) ? options_.matrix_speedup : options_.other_speedup));
    if (options_.memory)
      scale_tensors(
          trace, [](std::string_view kind, std::string_view) { return kind == "act" || kind == "grad"; }, 0.5);
    note_transform(trace, "scaled as if in mixed precision");
    return trace;
  }

 private:
  static bool on_tensor_cores(const trace::Trace& trace, const std::vector<KernelPlace>& kernels) {
    if (trace.header.name.find("/fp16") != std::string::npos || trace.header.name.find("/bf16") != std::string::npos)
      return true;
    return std::ranges::any_of(kernels, [](const KernelPlace& k) { return kernel_of(k.name).tensor_cores; });
  }
};

const bool kRegistered =
    add_plug_in<Transform, Amp>({.name = "amp",
                                 .summary = "mixed precision: matrix products and convolutions three times as fast, "
                                            "other kernels twice, half the bytes of activations",
                                 .source = "Zhu et al., Daydream, ATC 2020, section 5.1",
                                 .on_hardware = "torch.cuda.amp and a GPU with tensor cores; loss scaling"});

}  // namespace
}  // namespace uvmsim
