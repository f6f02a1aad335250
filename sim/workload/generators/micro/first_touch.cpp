#include "workload/generators/micro/micro.h"

namespace uvmsim::micro {
namespace {

struct Parameters : LaunchParameters {
  Parameters() { cpu_init = false; }
  Bytes size{128 << 20};
};

// A grid writes memory nobody touched before; every iteration allocates its own and frees it again.
class FirstTouch final : public MicroGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d = describe_launch<Parameters>("the GPU writes fresh memory")
                                     .bytes("size", &Parameters::size, "of the allocation", {4, {}})
                                     .build();
    return d;
  }

  trace::Trace generate(int iterations) const override {
    TraceBuilder t = start("first_touch");
    for (int i = 0; i < iterations; ++i) {
      t.iteration(i);
      const trace::TensorId a = t.allocate(p_.size, TensorKind::Other);
      if (p_.cpu_init) host_writes(t, {a});
      t.kernel("init", launch(p_, p_.size.value / 4, p_.size.value), {writes(a)});
      t.synchronize();
      if (p_.read_back) host_reads(t, {a});
      t.free(a);
    }
    return t.take();
  }
};

[[maybe_unused]] const bool kRegistered =
    generators().add({"first_touch", "the GPU writes fresh managed memory", "NVIDIA DLI; NVIDIA forum 107172",
                      [] { return std::make_unique<FirstTouch>(); }});

}  // namespace
}  // namespace uvmsim::micro
