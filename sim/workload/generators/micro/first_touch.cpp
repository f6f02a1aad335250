#include <vector>

#include "trace/format.h"
#include "workload/generators/micro/micro.h"

namespace uvmsim::micro {
namespace {

struct Parameters : LaunchParameters {
  Parameters() { cpu_init = false; }
  Bytes size{128 << 20};
  int arrays = 1;
  int unroll = 1;
};

// A grid writes memory nobody touched before, one element of each array per thread; every iteration allocates its own
// and frees it again.
class FirstTouch final : public MicroGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_launch<Parameters>("the GPU writes fresh memory")
            .bytes("size", &Parameters::size, "of each array", {4, {}})
            .integer("arrays", &Parameters::arrays, "arrays written by one kernel", {1, 16}, "arrays")
            .integer("unroll", &Parameters::unroll,
                     "rounds that a grid which loops over the arrays stores at a time: 4 for most compilers",
                     {1, trace::kMostUnrolled}, "rounds")
            .build();
    return d;
  }

  trace::Trace generate(int iterations) const override {
    TraceBuilder t = start("first_touch");
    for (int i = 0; i < iterations; ++i) {
      t.iteration(i);
      std::vector<trace::Access> written;
      for (int a = 0; a < p_.arrays; ++a) {
        written.push_back(writes(t.allocate(p_.size, TensorKind::Other)));
        if (p_.unroll > 1) written.back().options = t.options({.unroll = p_.unroll});
      }
      if (p_.cpu_init)
        for (const trace::Access& access : written) host_writes(t, {access.tensor});
      t.kernel("init", launch(p_, p_.size.value / 4, p_.size.value * p_.arrays), written);
      t.synchronize();
      if (p_.read_back) host_reads(t, {written.back().tensor});
      for (const trace::Access& access : written) t.free(access.tensor);
    }
    return t.take();
  }
};

[[maybe_unused]] const bool kRegistered =
    add_plug_in<Generator, FirstTouch>({.name = "first_touch",
                                        .summary = "the GPU writes fresh managed memory",
                                        .source = "NVIDIA DLI; NVIDIA forum 107172"});

}  // namespace
}  // namespace uvmsim::micro
