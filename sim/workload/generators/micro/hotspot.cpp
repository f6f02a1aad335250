#include <utility>

#include "workload/generators/micro/micro.h"

namespace uvmsim::micro {
namespace {

constexpr int kBlock = 16;  // a CTA is 16 x 16 threads

struct Parameters : TimeParameters {
  std::int64_t size = 1024;
  int kernels = 4;
  int pyramid_height = 2;
};

// Rodinia hotspot: the temperature of a square chip, from two grids that the host writes (temperature, power) to one
// that the GPU touches first; kernel after kernel the temperatures swap roles. A CTA loads 16 x 16 elements of both
// into shared memory and stores those inside a border as wide as the steps of time that it computes: 12 x 12 for two.
class Hotspot final : public MicroGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_time<Parameters>("a thermal simulation of a chip: two grids read, one written, by turns")
            .integer("size", &Parameters::size, "rows and columns of each grid", {3, kMostSide}, "elements")
            .integer("kernels", &Parameters::kernels, "kernels per iteration", {1, {}}, "kernels")
            .integer("pyramid_height", &Parameters::pyramid_height, "steps of time that a kernel computes", {1, 7},
                     "steps")
            .build();
    return d;
  }

  trace::Trace generate(int iterations) const override {
    TraceBuilder t = start("hotspot");
    const Bytes bytes{p_.size * p_.size * 4};
    trace::TensorId source = t.allocate(bytes, TensorKind::Input);
    trace::TensorId target = t.allocate(bytes, TensorKind::Other);
    const trace::TensorId power = t.allocate(bytes, TensorKind::Input);
    if (p_.cpu_init) host_writes(t, {source, power});
    const std::int32_t grid =
        t.options({.rows = p_.size, .columns = p_.size, .leading_dimension = p_.size * 4, .count = p_.pyramid_height});
    const std::int64_t side = divide_up(p_.size, kBlock - 2 * p_.pyramid_height);
    const trace::Kernel step = timed(p_, side * side, kBlock * kBlock, bytes.value * 3);
    for (int i = 0; i < iterations; ++i) {
      t.iteration(i);
      for (int k = 0; k < p_.kernels; ++k) {
        t.kernel("calculate_temp", step,
                 {reads(source, trace::Pattern::Stencil, grid), reads(power, trace::Pattern::Stencil, grid),
                  writes(target, trace::Pattern::Grid2d, grid)});
        std::swap(source, target);
      }
      t.synchronize();
    }
    if (p_.read_back) host_reads(t, {source});
    return t.take();
  }
};

[[maybe_unused]] const bool kRegistered =
    add_plug_in<Generator, Hotspot>({.name = "hotspot",
                                     .summary = "thermal simulation of a chip",
                                     .source = "Rodinia hotspot, as UVMSmart and XPlacer run it"});

}  // namespace
}  // namespace uvmsim::micro
