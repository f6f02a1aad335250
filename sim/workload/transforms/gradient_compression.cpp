#include <cmath>

#include "base/user_error.h"
#include "workload/edit.h"
#include "workload/transform.h"

namespace uvmsim {
namespace {

struct CompressionOptions {
  double ratio = 270;
  BytesPerSecond bandwidth{900'000'000'000};

  static const Description& description() {
    static const Description d =
        Describe<CompressionOptions>("gradient_compression: fewer bytes between replicas")
            .number("ratio", &CompressionOptions::ratio,
                    "how many times fewer; 270 to 600 were published for the same accuracy (an input)", {1, 100'000})
            .bandwidth("bandwidth", &CompressionOptions::bandwidth,
                       "of GPU memory: compressing reads and writes the gradients once, and so does decompressing; "
                       "default: V100 data sheet",
                       {1, {}})
            .build();
    return d;
  }
};

// Before each all-reduce a kernel on its stream that reads and writes its gradients, and one after it.
class GradientCompression final : public With<Transform, CompressionOptions> {
 public:
  trace::Trace apply(trace::Trace trace) const override {
    std::vector<std::pair<std::size_t, trace::Record>> kernels;
    const auto compress = static_cast<trace::StringIndex>(trace.strings.size());
    for (std::size_t i = 0; i < trace.records.size(); ++i) {
      auto* sum = std::get_if<trace::CollectiveOp>(&trace.records[i]);
      if (sum == nullptr || sum->kind != trace::Collective::AllReduce) continue;
      const double seconds = 2 * static_cast<double>(sum->bytes) / static_cast<double>(options_.bandwidth.value);
      for (const int after : {0, 1})
        kernels.emplace_back(i + static_cast<std::size_t>(after),
                             trace::Kernel{.name = compress + after,
                                           .stream = sum->stream,
                                           .duration_ns = std::llround(seconds * 1e9),
                                           .accesses = sum->accesses,
                                           .device = sum->device});
      sum->bytes = std::llround(static_cast<double>(sum->bytes) / options_.ratio);
    }
    if (kernels.empty())
      throw UserError(trace.header.name, "gradient_compression selects nothing: the trace has no all-reduce");
    trace.strings.insert(trace.strings.end(), {"compress_gradients", "decompress_gradients"});
    insert(trace, std::move(kernels));
    note_transform(trace, "gradients compressed");
    return trace;
  }
};

const bool kRegistered = add_plug_in<Transform, GradientCompression>(
    {.name = "gradient_compression",
     .summary = "all-reduces of sparse gradients, with the kernels that compress and decompress them",
     .source = "Lin et al., Deep Gradient Compression, ICLR 2018; Daydream, ATC 2020, section 5.2",
     .on_hardware = "momentum correction and warm-up in the optimizer; accuracy"});

}  // namespace
}  // namespace uvmsim
