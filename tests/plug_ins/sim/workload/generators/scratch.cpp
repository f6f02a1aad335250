#include "workload/generator.h"
#include "workload/trace_builder.h"

namespace uvmsim {
namespace {

struct ScratchOptions {
  std::int64_t bytes = 1 << 22;

  static const Description& description() {
    static const Description d = Describe<ScratchOptions>("an example")
                                     .integer("bytes", &ScratchOptions::bytes, "of the tensor", {1, 1 << 30}, "B")
                                     .build();
    return d;
  }
};

// One kernel that writes one tensor, by the access pattern of tests/plug_ins/sim/gpu/programs/scratch.cpp.
class Scratch final : public With<Generator, ScratchOptions> {
 public:
  trace::Trace generate(int iterations) const override {
    TraceBuilder t{trace::Header{}};
    t.header().devices.emplace_back();
    const trace::TensorId tensor = t.allocate(Bytes{options_.bytes}, TensorKind::Other);
    for (int i = 0; i < iterations; ++i) {
      t.iteration(i);
      t.kernel("write", {.duration_ns = 1000, .grid = 1, .block = 32, .gap_ns = 500}, {writes(tensor, trace::Pattern{13})});
    }
    return t.take();
  }
};

const bool kRegistered =
    add_plug_in<Generator, Scratch>({.name = "scratch", .summary = "an example", .source = "a test"});

}  // namespace
}  // namespace uvmsim
