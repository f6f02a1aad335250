#include <algorithm>

#include "workload/generators/micro/micro.h"

namespace uvmsim::micro {
namespace {

struct Parameters : HostParameters {
  Bytes size{64 << 20};
  Bytes stride{4096};
  std::int64_t touches = 0;
  bool prefetch_back = false;
  Duration load_latency = nanoseconds(500);
};

// One thread follows pointers: each load's address is the previous load's value.
class PointerChase final : public MicroGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_host<Parameters>("one thread follows a chain of pointers through one allocation")
            .bytes("size", &Parameters::size, "of the allocation", {8, {}})
            .bytes("stride", &Parameters::stride, "from one pointer to the next; wraps at the end", {8, {}})
            .integer("touches", &Parameters::touches, "loads per iteration; 0: once around", {0, {}}, "loads")
            .flag("prefetch_back", &Parameters::prefetch_back, kPrefetchBackDoc)
            .duration("load_latency", &Parameters::load_latency, "in-core time of one dependent load (assumed)")
            .build();
    return d;
  }

  trace::Trace generate(int iterations) const override {
    TraceBuilder t = start("pointer_chase");
    const trace::TensorId a = t.allocate(p_.size, TensorKind::Other);
    if (p_.cpu_init) host_writes(t, {a});
    const std::int64_t count = p_.touches > 0 ? p_.touches : std::max<std::int64_t>(1, p_.size.value / p_.stride.value);
    const std::int32_t chain = t.options({.width = 8, .stride = p_.stride.value, .count = count});
    trace::Kernel chase;
    chase.grid = chase.block = 1;
    chase.duration_ns = rounds_ns(p_.load_latency, count);
    for (int i = 0; i < iterations; ++i) {
      if (i > 0 && p_.prefetch_back) prefetch_back(t, a);
      t.iteration(i);
      t.kernel("chase", chase, {reads(a, trace::Pattern::Chase, chain)});
      t.synchronize();
    }
    if (p_.read_back) host_reads(t, {a});
    return t.take();
  }
};

[[maybe_unused]] const bool kRegistered =
    add_plug_in<Generator, PointerChase>({.name = "pointer_chase",
                                          .summary = "dependent loads at a stride, one thread",
                                          .source = "the usual latency micro-benchmark"});

}  // namespace
}  // namespace uvmsim::micro
