#include "workload/generators/micro/micro.h"

namespace uvmsim::micro {
namespace {

struct Parameters : TimeParameters {
  std::int64_t rows = 4096, columns = 4096;
  bool init_result = true;
  int block_x = 32, block_y = 32;
};

// C = A + B over float matrices, an element per thread, by a row-major grid of two-dimensional CTAs: those that run
// together touch strips of many rows.
class MatrixAdd final : public MicroGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_time<Parameters>("a sum of two float matrices by two-dimensional CTAs")
            .integer("rows", &Parameters::rows, "rows of each matrix", {1, kMostSide}, "rows")
            .integer("columns", &Parameters::columns, "elements per row", {1, kMostSide}, "elements")
            .flag("init_result", &Parameters::init_result, "cpu_init writes the sum's memory, too")
            .integer("block_x", &Parameters::block_x, "threads of a CTA along a row", {1, 1024}, "threads")
            .integer("block_y", &Parameters::block_y, "threads of a CTA along a column", {1, 1024}, "threads")
            .build();
    return d;
  }

  std::vector<std::string> contradictions() const override { return too_many_threads(p_.block_x, p_.block_y); }

  trace::Trace generate(int iterations) const override {
    TraceBuilder t = start("matrix_add");
    const Bytes bytes{p_.rows * p_.columns * 4};
    const trace::TensorId a = t.allocate(bytes, TensorKind::Input);
    const trace::TensorId b = t.allocate(bytes, TensorKind::Input);
    const trace::TensorId c = t.allocate(bytes, TensorKind::Other);
    if (p_.cpu_init) p_.init_result ? host_writes(t, {a, b, c}) : host_writes(t, {a, b});
    const std::int32_t tiles = t.options({.rows = p_.rows,
                                          .columns = p_.columns,
                                          .leading_dimension = p_.columns * 4,
                                          .block_x = p_.block_x,
                                          .block_y = p_.block_y});
    const std::int64_t ctas = divide_up(p_.columns, p_.block_x) * divide_up(p_.rows, p_.block_y);
    const trace::Kernel add = timed(p_, ctas, p_.block_x * p_.block_y, bytes.value * 3);
    constexpr trace::Pattern kTiles = trace::Pattern::Grid2d;
    for (int i = 0; i < iterations; ++i) {
      t.iteration(i);
      t.kernel("add", add, {reads(a, kTiles, tiles), reads(b, kTiles, tiles), writes(c, kTiles, tiles)});
      t.synchronize();
    }
    if (p_.read_back) host_reads(t, {c});
    return t.take();
  }
};

[[maybe_unused]] const bool kRegistered =
    add_plug_in<Generator, MatrixAdd>({.name = "matrix_add",
                                       .summary = "C = A + B by two-dimensional CTAs",
                                       .source = "Cheng et al., Professional CUDA C Programming, sumMatrix"});

}  // namespace
}  // namespace uvmsim::micro
