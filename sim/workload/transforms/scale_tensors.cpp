#include "base/user_error.h"
#include "workload/edit.h"
#include "workload/transform.h"

namespace uvmsim {
namespace {

struct ScaleOptions {
  std::string kind, layer;
  double factor = 0.5;

  static const Description& description() {
    static const Description d =
        Describe<ScaleOptions>("scale_tensors: tensors of fewer bytes")
            .text("kind", &ScaleOptions::kind,
                  "of the tensors: param, act, opt, ... as in the trace's header; \"\": any")
            .text("layer", &ScaleOptions::layer, "a part of the name of the layer that makes them; \"\": any")
            .number("factor", &ScaleOptions::factor, "bytes, in times of what there were", {1e-6, 1})
            .build();
    return d;
  }
};

// Sizes and what is touched of them; what kernels take stays: scale_kernels says that.
class ScaleTensors final : public With<Transform, ScaleOptions> {
 public:
  trace::Trace apply(trace::Trace trace) const override {
    if (options_.kind.empty() && options_.layer.empty())
      throw UserError(trace.header.name, "scale_tensors needs to know which: give a kind or a part of a layer's name");
    const auto takes = [this](std::string_view kind, std::string_view layer) {
      return (options_.kind.empty() || kind == options_.kind) &&
             (options_.layer.empty() || layer.find(options_.layer) != std::string_view::npos);
    };
    if (scale_tensors(trace, takes, options_.factor) == 0)
      throw UserError(trace.header.name, "scale_tensors selects nothing: no tensor is of that kind and layer");
    return trace;
  }
};

const bool kRegistered = add_plug_in<Transform, ScaleTensors>(
    {.name = "scale_tensors",
     .summary = "tensors of some kind or layer with fewer bytes",
     .source = "Gong et al., Compressing Deep Convolutional Networks using Vector Quantization, 2014: 16 to 24 times "
               "for weights; Li et al., ICLR 2017",
     .on_hardware = "kernels for the smaller type; accuracy"});

}  // namespace
}  // namespace uvmsim
