#include "workload/generators/micro/micro.h"

namespace uvmsim::micro {
namespace {

constexpr std::int64_t kTile = 128;  // a CTA computes 128 x 128 elements; the GPU model knows no other

struct Parameters : TimeParameters {
  std::int64_t n = 8192;
  double fp32_flops = 15.7e12;
  bool output_init = true;
};

// C = A * B of n x n floats. A CTA computes one 128 x 128 tile of C: it reads a row panel of A and a
// column panel of B, then stores its tile.
class Sgemm final : public MicroGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_time<Parameters>("a square single-precision matrix product")
            .integer("n", &Parameters::n, "rows and columns of each matrix", {1, kMostSide}, "elements")
            .number("fp32_flops", &Parameters::fp32_flops,
                    "rate that the in-core time is computed from, or device_bandwidth where that is slower "
                    "(default: V100-SXM2 data sheet)",
                    {1, {}}, "1/s")
            .flag("output_init", &Parameters::output_init, "cpu_init writes C, too")
            .build();
    return d;
  }

  trace::Trace generate(int iterations) const override {
    TraceBuilder t = start("sgemm");
    const Bytes bytes{p_.n * p_.n * 4};
    const trace::TensorId a = t.allocate(bytes, TensorKind::Input);
    const trace::TensorId b = t.allocate(bytes, TensorKind::Input);
    const trace::TensorId c = t.allocate(bytes, TensorKind::Other);
    if (p_.cpu_init) p_.output_init ? host_writes(t, {a, b, c}) : host_writes(t, {a, b});
    const std::int32_t matrix = t.options({.rows = p_.n, .columns = p_.n, .leading_dimension = p_.n * 4});
    const double n = static_cast<double>(p_.n);
    const std::int64_t side = divide_up(p_.n, kTile);
    trace::Kernel product = timed(p_, side * side, 256, bytes.value * 3);
    product.flops = 2 * n * n * n;
    const std::int64_t by_flops = computed(product.flops / p_.fp32_flops).count() / 1000;
    if (p_.duration.count() == 0 && by_flops > product.duration_ns) product.duration_ns = by_flops;
    constexpr trace::Pattern kTiles = trace::Pattern::Tile;
    for (int i = 0; i < iterations; ++i) {
      t.iteration(i);
      t.kernel("sgemm", product, {reads(a, kTiles, matrix), reads(b, kTiles, matrix), writes(c, kTiles, matrix)});
      t.synchronize();
    }
    if (p_.read_back) host_reads(t, {c});
    return t.take();
  }
};

[[maybe_unused]] const bool kRegistered =
    add_plug_in<Generator, Sgemm>({.name = "sgemm",
                                   .summary = "a square single-precision matrix product",
                                   .source = "cublasSgemm; Bede and uvm-eval cases"});

}  // namespace
}  // namespace uvmsim::micro
