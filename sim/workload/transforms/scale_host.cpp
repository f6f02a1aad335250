#include <cmath>

#include "base/user_error.h"
#include "workload/transform.h"

namespace uvmsim {
namespace {

struct ScaleHostOptions {
  double factor = 0.5;

  static const Description& description() {
    static const Description d =
        Describe<ScaleHostOptions>("scale_host: a faster or slower host")
            .number("factor", &ScaleHostOptions::factor,
                    "what host steps, gaps before launches and calls take, in times of what they took", {0, 1000})
            .build();
    return d;
  }
};

class ScaleHost final : public With<Transform, ScaleHostOptions> {
 public:
  trace::Trace apply(trace::Trace trace) const override {
    bool any = scale(trace.header.host_op_ns);
    for (trace::Record& record : trace.records) {
      if (auto* step = std::get_if<trace::HostStep>(&record)) any |= scale(step->duration_ns);
      if (auto* kernel = std::get_if<trace::Kernel>(&record)) any |= scale(kernel->gap_ns);
    }
    if (!any) throw UserError(trace.header.name, "scale_host selects nothing: the trace has no host times");
    return trace;
  }

 private:
  // Rounds to nanoseconds; whether there was a time.
  bool scale(std::int64_t& ns) const {
    const bool any = ns > 0;
    ns = std::llround(static_cast<double>(ns) * options_.factor);
    return any;
  }
};

const bool kRegistered =
    add_plug_in<Transform, ScaleHost>({.name = "scale_host",
                                       .summary = "host times, times a factor",
                                       .source = "what-if analysis; Curtsinger and Berger, SOSP 2015 (Coz)",
                                       .on_hardware = "a CPU that runs one thread twice as fast, or CUDA graphs"});

}  // namespace
}  // namespace uvmsim
