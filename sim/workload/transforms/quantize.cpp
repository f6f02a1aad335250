#include <algorithm>

#include "base/user_error.h"
#include "workload/edit.h"
#include "workload/transform.h"

namespace uvmsim {
namespace {

struct QuantizeOptions {
  int from_bits = 32, weight_bits = 8, activation_bits = 32;

  static const Description& description() {
    using O = QuantizeOptions;
    static const Description d =
        Describe<O>("quantize: weights and activations of fewer bits")
            .integer("from_bits", &O::from_bits, "of an element as it is", {1, 64}, "bits")
            .integer("weight_bits", &O::weight_bits, "of an element of a parameter", {1, 64}, "bits")
            .integer("activation_bits", &O::activation_bits, "of an element of a feature map", {1, 64}, "bits")
            .build();
    return d;
  }
};

// Kernels read and write the fewer bytes and do the same arithmetic: those that memory binds get faster.
class Quantize final : public With<Transform, QuantizeOptions> {
 public:
  trace::Trace apply(trace::Trace trace) const override {
    const auto factor = [this](std::size_t, std::string_view kind, std::string_view) {
      const bool activation = kind == "act";
      if (kind != "param" && !activation) return 1.0;
      const int bits = activation ? options_.activation_bits : options_.weight_bits;
      return std::min(1.0, static_cast<double>(bits) / options_.from_bits);
    };
    const trace::Trace before = trace;
    scale_tensors(trace, factor);
    if (trace.records == before.records)
      throw UserError(trace.header.name,
                      "quantize selects nothing: no parameter or activation has more bits than it is to have");
    scale_by_roofline(before, trace);
    note_transform(trace, "quantized");
    return trace;
  }
};

const bool kRegistered = add_plug_in<Transform, Quantize>(
    {.name = "quantize",
     .summary = "weights and activations of fewer bits",
     .source = "Gong et al., Compressing Deep Convolutional Networks using Vector Quantization, 2014; the roofline: "
               "Williams et al., CACM 52(4), 2009",
     .on_hardware = "kernels that read the smaller type; accuracy"});

}  // namespace
}  // namespace uvmsim
