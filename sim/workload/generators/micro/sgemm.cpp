#include "trace/format.h"
#include "workload/generators/micro/micro.h"

namespace uvmsim::micro {
namespace {

struct Parameters : TimeParameters {
  std::int64_t n = 8192;
  double fp32_flops = 15.7e12;
  bool output_init = true;
  int tile_rows = 128, tile_columns = 128, tile_group = 0;
};

// C = A * B of n x n floats. A CTA computes one tile of C: it reads a row panel of A and a column panel of B, then
// stores its tile. A matrix is stored row by row; cuBLAS, which stores columns, calls the rows columns.
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
            .integer("tile_rows", &Parameters::tile_rows, "rows of C that a CTA computes",
                     {trace::kTileExtents.low, trace::kTileExtents.high}, "elements")
            .integer("tile_columns", &Parameters::tile_columns, "columns of C that a CTA computes",
                     {trace::kTileExtents.low, trace::kTileExtents.high}, "elements")
            .integer("tile_group", &Parameters::tile_group,
                     "columns of tiles that go together, row by row, before the next ones; 1: down the columns; 0: all",
                     {0, kMostSide})
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
    const auto n = static_cast<double>(p_.n);
    const std::int32_t made = t.options({.rows = p_.n,
                                         .columns = p_.n,
                                         .leading_dimension = p_.n * 4,
                                         .count = p_.tile_group,
                                         .cta_rows = p_.tile_rows,
                                         .cta_columns = p_.tile_columns});
    trace::Kernel product =
        timed(p_, divide_up(p_.n, p_.tile_rows) * divide_up(p_.n, p_.tile_columns), 256, bytes.value * 3);
    product.flops = 2 * n * n * n;
    const std::int64_t by_flops = computed(product.flops / p_.fp32_flops).count() / 1000;
    if (p_.duration.count() == 0 && by_flops > product.duration_ns) product.duration_ns = by_flops;
    constexpr trace::Pattern kTiles = trace::Pattern::Tile;
    for (int i = 0; i < iterations; ++i) {
      t.iteration(i);
      t.kernel("sgemm", product, {reads(a, kTiles, matrix), reads(b, kTiles, matrix), writes(c, kTiles, made)});
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
