#include "workload/generators/micro/micro.h"

namespace uvmsim::micro {
namespace {

struct Parameters : HostParameters {
  std::int64_t n = 1200;
  Duration load_latency = nanoseconds(280);
};

// y = A' (A x), PolyBench/GPU ATAX: two kernels of one thread per row or column. In the first each thread walks its own
// row, so that the threads of a warp touch 32 places a row apart; the second walks columns, so that all of them touch
// the same row. The host writes A and x; tmp and y are first touched by the GPU. Each of the n rounds of a thread
// waits for memory, because the sums stay there.
class Atax final : public MicroGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_host<Parameters>("a matrix times its transpose times a vector, one thread per row, then per column")
            .integer("n", &Parameters::n, "rows and columns of the matrix", {1, kMostSide}, "elements")
            .duration("load_latency", &Parameters::load_latency,
                      "in-core time of one round of a thread (nvprof of UVMSmart's ATAX, GTX 1080 Ti: the second "
                      "kernel finds its matrix in memory, 336.7 us for 1200 rounds)")
            .build();
    return d;
  }

  trace::Trace generate(int iterations) const override {
    TraceBuilder t = start("atax");
    const std::int64_t row = p_.n * 4;
    const trace::TensorId a = t.allocate(Bytes{row * p_.n}, TensorKind::Input);
    const trace::TensorId x = t.allocate(Bytes{row}, TensorKind::Input);
    const trace::TensorId y = t.allocate(Bytes{row}, TensorKind::Other);
    const trace::TensorId tmp = t.allocate(Bytes{row}, TensorKind::Other);
    if (p_.cpu_init) host_writes(t, {x, a});
    const std::int32_t rows = t.options({.chunk = row});
    trace::Kernel kernel;
    kernel.block = 256;
    kernel.grid = divide_up(p_.n, kernel.block);
    kernel.duration_ns = rounds_ns(p_.load_latency, p_.n);
    for (int i = 0; i < iterations; ++i) {
      t.iteration(i);
      t.kernel("atax_kernel1", kernel,
               {updates(tmp), reads(a, trace::Pattern::Sequential, rows), reads(x, trace::Pattern::Broadcast)});
      t.kernel("atax_kernel2", kernel, {updates(y), reads(a), reads(tmp, trace::Pattern::Broadcast)});
      t.synchronize();
    }
    if (p_.read_back) host_reads(t, {y});
    return t.take();
  }
};

[[maybe_unused]] const bool kRegistered =
    add_plug_in<Generator, Atax>({.name = "atax",
                                  .summary = "y = A' (A x), one thread per row, then per column",
                                  .source = "PolyBench/GPU ATAX, as UVMSmart runs it"});

}  // namespace
}  // namespace uvmsim::micro
