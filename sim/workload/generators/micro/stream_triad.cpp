#include "workload/generators/micro/micro.h"

namespace uvmsim::micro {
namespace {

struct Parameters : LaunchParameters {
  std::int64_t elements = 1 << 25;
  bool output_init = true;
};

// a = b + s * c over float arrays.
class StreamTriad final : public MicroGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_launch<Parameters>("the STREAM triad over three float arrays")
            .integer("elements", &Parameters::elements, "elements per array", {1, kMostElements}, "elements")
            .flag("output_init", &Parameters::output_init, "cpu_init writes a, too")
            .build();
    return d;
  }

  trace::Trace generate(int iterations) const override {
    TraceBuilder t = start("stream_triad");
    const Bytes bytes{p_.elements * 4};
    const trace::TensorId a = t.allocate(bytes, TensorKind::Other);
    const trace::TensorId b = t.allocate(bytes, TensorKind::Input);
    const trace::TensorId c = t.allocate(bytes, TensorKind::Input);
    if (p_.cpu_init) p_.output_init ? host_writes(t, {a, b, c}) : host_writes(t, {b, c});
    for (int i = 0; i < iterations; ++i) {
      t.iteration(i);
      t.kernel("triad", launch(p_, p_.elements, bytes.value * 3), {reads(b), reads(c), writes(a)});
      t.synchronize();
    }
    if (p_.read_back) host_reads(t, {a});
    return t.take();
  }
};

[[maybe_unused]] const bool kRegistered =
    add_plug_in<Generator, StreamTriad>({.name = "stream_triad",
                                         .summary = "a = b + s * c, one element per thread",
                                         .source = "McCalpin's STREAM; UVMSmart and SpecAsync-UVM use it"});

}  // namespace
}  // namespace uvmsim::micro
