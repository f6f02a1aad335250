#include "workload/generators/micro/micro.h"

namespace uvmsim::micro {
namespace {

struct Parameters : LaunchParameters {
  Bytes size{822'083'584};
  std::string input = "host";
};

// out = max(in, 0) over float tensors; nobody touched the output before. Source: G10,
// src/cudnn/src/ReLU_Forward.cu: the host fills the input; for one of the two profiles the GPU then fills it
// again, so that it is resident; cudnnActivationForward is timed.
class Relu final : public MicroGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_launch<Parameters>("a ReLU from one tensor to another that nobody touched")
            .bytes("size", &Parameters::size, "of each tensor (default: batch 256 of 64 x 112 x 112)", {4, {}})
            .text("input", &Parameters::input,
                  "who wrote the input last: the host, or a kernel before the first iteration", {"host", "gpu"})
            .build();
    return d;
  }

  trace::Trace generate(int iterations) const override {
    TraceBuilder t = start("relu");
    const trace::TensorId in = t.allocate(p_.size, TensorKind::Input);
    const trace::TensorId out = t.allocate(p_.size, TensorKind::Activation);
    if (p_.cpu_init) host_writes(t, {in});
    const std::int64_t elements = p_.size.value / 4;
    if (p_.input == "gpu") {
      t.kernel("fill", launch(p_, elements, p_.size.value), {writes(in)});
      t.synchronize();
    }
    for (int i = 0; i < iterations; ++i) {
      t.iteration(i);
      t.kernel("relu", launch(p_, elements, 2 * p_.size.value), {reads(in), writes(out)});
      t.synchronize();
    }
    if (p_.read_back) host_reads(t, {out});
    return t.take();
  }
};

[[maybe_unused]] const bool kRegistered =
    add_plug_in<Generator, Relu>({.name = "relu",
                                  .summary = "a ReLU that is the first to touch its output",
                                  .source = "G10 kernel profiles: cudnnActivationForward"});

}  // namespace
}  // namespace uvmsim::micro
