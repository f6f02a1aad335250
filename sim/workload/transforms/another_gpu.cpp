#include "base/user_error.h"
#include "workload/generators/dnn/roofline.h"
#include "workload/retarget.h"
#include "workload/transform.h"

namespace uvmsim {
namespace {

struct AnotherGpuOptions {
  std::string from, to = "a100";

  static const Description& description() {
    std::vector<std::string> known = dnn::roofline_device_names(), from = known;
    from.insert(from.begin(), "");
    static const Description d =
        Describe<AnotherGpuOptions>("another_gpu: kernels by the rooflines of two GPUs")
            .text("from", &AnotherGpuOptions::from, "the GPU of the durations; \"\": as the trace's header says", from)
            .text("to", &AnotherGpuOptions::to, "the GPU that kernels are to run on", known)
            .build();
    return d;
  }
};

class AnotherGpu final : public With<Transform, AnotherGpuOptions> {
 public:
  trace::Trace apply(trace::Trace trace) const override {
    const std::string from = options_.from.empty() ? named_by(trace.header) : options_.from;
    if (from.empty())
      throw UserError(trace.header.name,
                      "another_gpu selects nothing: the trace does not say which GPU its durations "
                      "are of; give \"from\"");
    if (from == options_.to)
      throw UserError(trace.header.name, "another_gpu selects nothing: durations are of " + from + " already");
    retarget(trace, dnn::roofline_device(from), dnn::roofline_device(options_.to));
    return trace;
  }

 private:
  static std::string named_by(const trace::Header& header) {
    if (header.devices.empty()) return "";
    for (const std::string& name : dnn::roofline_device_names())
      if (header.devices.front().name.find(dnn::roofline_device(name).name) != std::string::npos) return name;
    return "";
  }
};

const bool kRegistered = add_plug_in<Transform, AnotherGpu>(
    {.name = "another_gpu",
     .summary = "kernel durations from the roofline of another GPU; memory and links stay the same",
     .source = "Williams et al., Roofline, CACM 52(4), 2009; the shares of the peaks are fitted for Volta only",
     .on_hardware = "that GPU"});

}  // namespace
}  // namespace uvmsim
