#include <utility>

#include "workload/generators/micro/micro.h"

namespace uvmsim::micro {
namespace {

struct Parameters : TimeParameters {
  std::int64_t columns = 24000, rows = 24000;
  bool output_init = true;
  int block_x = 16, block_y = 16;
};

// A 5-point stencil over two float grids that swap roles after each sweep; one sweep is one kernel and one
// iteration. Each thread of a CTA has one point; CTAs are in row-major order.
class Stencil2d final : public MicroGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_time<Parameters>("a 5-point stencil over two float grids, ping-pong; one sweep per iteration")
            .integer("columns", &Parameters::columns, "points per row", {3, kMostSide}, "points")
            .integer("rows", &Parameters::rows, "rows", {3, kMostSide}, "rows")
            .flag("output_init", &Parameters::output_init, "cpu_init writes the grid that is first written, too")
            .integer("block_x", &Parameters::block_x, "threads of a CTA along a row", {1, 1024}, "threads")
            .integer("block_y", &Parameters::block_y, "threads of a CTA along a column", {1, 1024}, "threads")
            .build();
    return d;
  }

  std::vector<std::string> contradictions() const override { return too_many_threads(p_.block_x, p_.block_y); }

  trace::Trace generate(int iterations) const override {
    TraceBuilder t = start("stencil2d");
    const Bytes bytes{p_.columns * p_.rows * 4};
    trace::TensorId source = t.allocate(bytes, TensorKind::Other);
    trace::TensorId target = t.allocate(bytes, TensorKind::Other);
    if (p_.cpu_init) p_.output_init ? host_writes(t, {source, target}) : host_writes(t, {source});
    trace::PatternOptions points{.rows = p_.rows, .columns = p_.columns, .leading_dimension = p_.columns * 4};
    if (p_.block_x != 16 || p_.block_y != 16) points.block_x = p_.block_x, points.block_y = p_.block_y;
    const std::int32_t grid2d = t.options(points);
    const std::int64_t ctas = divide_up(p_.columns, p_.block_x) * divide_up(p_.rows, p_.block_y);
    const trace::Kernel sweep = timed(p_, ctas, p_.block_x * p_.block_y, bytes.value * 2);
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
