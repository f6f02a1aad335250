#include <utility>

#include "workload/generators/micro/micro.h"

namespace uvmsim::micro {
namespace {

constexpr std::int64_t kTile = 16;  // a CTA is 16 x 16 threads; the GPU model knows no other

struct Parameters : TimeParameters {
  std::int64_t columns = 24000, rows = 24000;
  bool output_init = true;
};

// A 5-point stencil over two float grids that swap roles after each sweep; one sweep is one kernel and one
// iteration. CTAs are 16 x 16 threads, one point each, in row-major order.
class Stencil2d final : public MicroGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_time<Parameters>("a 5-point stencil over two float grids, ping-pong; one sweep per iteration")
            .integer("columns", &Parameters::columns, "points per row", {3, {}}, "points")
            .integer("rows", &Parameters::rows, "rows", {3, {}}, "rows")
            .flag("output_init", &Parameters::output_init, "cpu_init writes the grid that is first written, too")
            .build();
    return d;
  }

  trace::Trace generate(int iterations) const override {
    TraceBuilder t = start("stencil2d");
    const Bytes bytes{p_.columns * p_.rows * 4};
    trace::TensorId source = t.allocate(bytes, TensorKind::Other);
    trace::TensorId target = t.allocate(bytes, TensorKind::Other);
    if (p_.cpu_init) p_.output_init ? host_writes(t, {source, target}) : host_writes(t, {source});
    const std::int32_t grid2d =
        t.options({.rows = p_.rows, .columns = p_.columns, .leading_dimension = p_.columns * 4});
    const std::int64_t ctas = divide_up(p_.columns, kTile) * divide_up(p_.rows, kTile);
    const trace::Kernel sweep = timed(p_, ctas, kTile * kTile, bytes.value * 2);
    for (int i = 0; i < iterations; ++i) {
      t.iteration(i);
      t.kernel("sweep", sweep,
               {reads(source, trace::Pattern::Stencil, grid2d), writes(target, trace::Pattern::Grid2d, grid2d)});
      t.synchronize();
      std::swap(source, target);
    }
    if (p_.read_back) host_reads(t, {source});
    return t.take();
  }
};

[[maybe_unused]] const bool kRegistered =
    add_plug_in<Generator, Stencil2d>({.name = "stencil2d",
                                       .summary = "5-point stencil over two grids, ping-pong",
                                       .source = "SpecAsync-UVM oversubscribed stencil; Rodinia hotspot"});

}  // namespace
}  // namespace uvmsim::micro
