#include "plan/planner.h"
#include "plan/written_out.h"
#include "workload/edit.h"
#include "workload/transform.h"

namespace uvmsim {
namespace {

struct GistTransformOptions {
  std::string precision = "fp16";
  Bytes min_bytes{};

  static const Description& description() {
    using O = GistTransformOptions;
    static const Description d =
        Describe<O>("gist: the program encodes feature maps and decodes them itself")
            .text("precision", &O::precision,
                  "of what neither binarize nor ssdc makes smaller; fp32: it stays as it is, and all is lossless",
                  {"fp32", "fp16", "fp10", "fp8"})
            .bytes("min_bytes", &O::min_bytes, "smaller feature maps stay")
            .build();
    return d;
  }
};

// The planner gist_like's choice of codecs, as kernels of the program.
class GistTransform final : public With<Transform, GistTransformOptions> {
 public:
  trace::Trace apply(trace::Trace trace) const override {
    const auto& devices = trace.header.devices;
    const double bandwidth = devices.empty() || devices.front().bandwidth <= 0 ? 900e9 : devices.front().bandwidth;
    return encoded(trace, BytesPerSecond{static_cast<std::int64_t>(bandwidth)});  // else a V100's (data sheet)
  }
  trace::Trace apply_on(trace::Trace trace, const GpuSpec& gpu) const override {
    return encoded(trace, gpu.memory_bandwidth);
  }

 private:
  trace::Trace encoded(const trace::Trace& trace, BytesPerSecond bandwidth) const {
    const auto planner = planners().find("gist_like")->make();
    parameter<std::string>(*planner, "precision") = options_.precision;
    parameter<Bytes>(*planner, "min_bytes") = options_.min_bytes;
    trace::Trace program = written_out(trace, *planner, bandwidth, "gist");
    note_transform(program, "feature maps encoded between the passes");
    return program;
  }
};

const bool kRegistered = add_plug_in<Transform, GistTransform>(
    {.name = "gist",
     .summary = "kernels that encode feature maps after the forward pass and decode them before the backward pass",
     .source = "Jain et al., Gist, ISCA 2018; Daydream, ATC 2020, section 5.2",
     .on_hardware = "a framework whose layers encode and decode what they save"});

}  // namespace
}  // namespace uvmsim
