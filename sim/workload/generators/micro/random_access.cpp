#include "workload/generators/micro/micro.h"

namespace uvmsim::micro {
namespace {

struct Parameters : LaunchParameters {
  std::int64_t elements = 1 << 20;
  std::int64_t every = 100;
};

// One thread in `every` reads its own element of `input`, then the element of `table` that it names, anywhere, and
// writes the same element of `output`. The host writes input and table; output is first touched by the GPU.
class RandomAccess final : public MicroGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_launch<Parameters>("some threads of a grid read and write one random place each")
            .integer("elements", &Parameters::elements, "elements per array", {1, kMostElements}, "elements")
            .integer("every", &Parameters::every, "only one thread in this many does anything", {1, kMostElements},
                     "threads")
            .build();
    return d;
  }

  trace::Trace generate(int iterations) const override {
    TraceBuilder t = start("random_access");
    const Bytes bytes{p_.elements * 4};
    const trace::TensorId input = t.allocate(bytes, TensorKind::Input);
    const trace::TensorId output = t.allocate(bytes, TensorKind::Other);
    const trace::TensorId table = t.allocate(bytes, TensorKind::Input);
    if (p_.cpu_init) host_writes(t, {input, table});
    const std::int64_t places = divide_up(p_.elements, p_.every);
    const std::int32_t named = t.options({.width = 4, .count = places, .dependent = true});
    constexpr trace::Pattern kRandom = trace::Pattern::Random;
    const trace::Kernel kernel = launch(p_, p_.elements, places * 3 * 32);  // a 32-byte sector each
    for (int i = 0; i < iterations; ++i) {
      t.iteration(i);
      t.kernel("random_access", kernel, {reads(input), reads(table, kRandom, named), writes(output, kRandom, named)});
      t.synchronize();
    }
    if (p_.read_back) host_reads(t, {output});
    return t.take();
  }
};

[[maybe_unused]] const bool kRegistered =
    add_plug_in<Generator, RandomAccess>({.name = "random_access",
                                          .summary = "some threads of a grid read and write one random place each",
                                          .source = "UVMSmart's ra (after HPC Challenge RandomAccess)"});

}  // namespace
}  // namespace uvmsim::micro
