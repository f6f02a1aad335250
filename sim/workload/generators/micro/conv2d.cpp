#include <algorithm>

#include "workload/generators/micro/micro.h"

namespace uvmsim::micro {
namespace {

constexpr int kBlockX = 32, kBlockY = 8;  // DIM_THREAD_BLOCK_X, DIM_THREAD_BLOCK_Y

struct Parameters : TimeParameters {
  std::int64_t rows = 1024, columns = 1024;
  Bytes read_stride{0};
};

// B = A convolved with a 3 x 3 filter: PolyBench/GPU 2DCONV. The host writes A; B is first touched by the GPU. Each
// thread has one element.
class Conv2d final : public MicroGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_time<Parameters>("a 3 x 3 convolution of a float image")
            .integer("rows", &Parameters::rows, "rows of the image", {3, kMostSide}, "rows")
            .integer("columns", &Parameters::columns, "elements per row", {3, kMostSide}, "elements")
            .bytes("read_stride", &Parameters::read_stride,
                   "the host reads single elements of the result so far apart after the last "
                   "kernel; 0: all or none, as read_back says",
                   {0, {}})
            .build();
    return d;
  }

  trace::Trace generate(int iterations) const override {
    TraceBuilder t = start("conv2d");
    const std::int64_t bytes = p_.rows * p_.columns * 4;
    const trace::TensorId a = t.allocate(Bytes{bytes}, TensorKind::Input);
    const trace::TensorId b = t.allocate(Bytes{bytes}, TensorKind::Other);
    if (p_.cpu_init) host_writes(t, {a});
    const std::int32_t image = t.options({.rows = p_.rows,
                                          .columns = p_.columns,
                                          .leading_dimension = p_.columns * 4,
                                          .block_x = kBlockX,
                                          .block_y = kBlockY});
    const std::int64_t ctas = divide_up(p_.columns, kBlockX) * divide_up(p_.rows, kBlockY);
    const trace::Kernel convolution = timed(p_, ctas, kBlockX * kBlockY, bytes * 2);
    for (int i = 0; i < iterations; ++i) {
      t.iteration(i);
      t.kernel("convolution", convolution,
               {reads(a, trace::Pattern::Stencil, image), writes(b, trace::Pattern::Grid2d, image)});
      t.synchronize();
    }
    read_result(t, b, bytes);
    return t.take();
  }

 private:
  void read_result(TraceBuilder& t, trace::TensorId b, std::int64_t bytes) const {
    if (p_.read_stride.value == 0) {
      if (p_.read_back) host_reads(t, {b});
      return;
    }
    t.phase("host read-back");
    for (std::int64_t offset = 0; offset < bytes; offset += p_.read_stride.value)
      t.host_step({at(reads(b), offset, std::min<std::int64_t>(4, bytes - offset))});
  }
};

[[maybe_unused]] const bool kRegistered =
    add_plug_in<Generator, Conv2d>({.name = "conv2d",
                                    .summary = "3 x 3 convolution of an image",
                                    .source = "PolyBench/GPU 2DCONV, as UVMSmart runs it"});

}  // namespace
}  // namespace uvmsim::micro
