#include <algorithm>

#include "workload/generators/micro/micro.h"

namespace uvmsim::micro {
namespace {

struct Parameters : HostParameters {
  Bytes size{2 << 20};
  Bytes unit{64 << 10};
  std::vector<std::int64_t> order = {0, 1, 2, 4, 8, 16};
  Duration spin = microseconds(1);
};

// One thread adds to the first byte of some 64 KiB basic blocks of one allocation, in a given order, and
// spins between touches so that every fault is serviced alone. The default is the test P1; P2 is
// 1,3,0,4,8,16, P3 is 1,3,5,7,0,8,16; "large page boundary" is P1 in three consecutive 2 MiB blocks;
// "managed alloc round up" has size 2 MiB + 192 KiB and touches its tail.
class PageTouch final : public MicroGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_host<Parameters>("one thread touches given places of one allocation, one after the other")
            .bytes("size", &Parameters::size, "of the allocation", {1, {}})
            .bytes("unit", &Parameters::unit, "what `order` counts in", {1, {}})
            .integers("order", &Parameters::order, "the places touched, in units from the allocation's start", {0, {}})
            .duration("spin", &Parameters::spin,
                      "time between two touches, and the in-core time of each (1000 clocks in the source)")
            .build();
    return d;
  }

  std::vector<std::string> contradictions() const override {
    std::vector<std::string> wrong;
    if (p_.order.empty()) wrong.push_back("order is empty: the kernel would touch nothing");
    for (const std::int64_t place : p_.order)
      if (place >= divide_up(p_.size.value, p_.unit.value))
        wrong.push_back("order names unit " + std::to_string(place) + ", beyond the end of the allocation");
    return wrong;
  }

  trace::Trace generate(int iterations) const override {
    TraceBuilder t = start("page_touch");
    const trace::TensorId a = t.allocate(p_.size, TensorKind::Other);
    if (p_.cpu_init) host_writes(t, {a});
    trace::PatternOptions options{.width = 1};
    for (const std::int64_t place : p_.order) options.order.push_back(place * p_.unit.value);
    const std::int32_t order = t.options(std::move(options));
    trace::Kernel touch;
    touch.grid = touch.block = 1;
    touch.duration_ns = rounds_ns(p_.spin, static_cast<std::int64_t>(p_.order.size()));
    for (int i = 0; i < iterations; ++i) {
      t.iteration(i);
      t.kernel("touch", touch, {updates(a, trace::Pattern::Order, order)});
      t.synchronize();
    }
    if (p_.read_back) host_reads(t, {a});
    return t.take();
  }
};

[[maybe_unused]] const bool kRegistered = add_plug_in<Generator, PageTouch>(
    {.name = "page_touch",
     .summary = "one thread touches given pages in a given order",
     .source = "Ganguly et al., ISCA 2019: UVMSmart micro-benchmarks P1, P2, P3, largePageBoundary"});

}  // namespace
}  // namespace uvmsim::micro
