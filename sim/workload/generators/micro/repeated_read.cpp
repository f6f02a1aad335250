#include "trace/format.h"
#include "workload/generators/micro/micro.h"

namespace uvmsim::micro {
namespace {

struct Parameters : LaunchParameters {
  Bytes size{1 << 30};
  int rounds = 1;
  int unroll = 1;
  std::string advice = "none";
};

// Kernels that each read one whole allocation.
class RepeatedRead final : public MicroGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_launch<Parameters>("kernels read one whole allocation, again and again")
            .bytes("size", &Parameters::size, "of the allocation", {4, {}})
            .integer("rounds", &Parameters::rounds, "full reads, one kernel each, per iteration", {1, {}}, "kernels")
            .integer("unroll", &Parameters::unroll,
                     "rounds that a grid which loops over the allocation loads at a time: 4 for most compilers",
                     {1, trace::kMostUnrolled}, "rounds")
            .text("advice", &Parameters::advice, "of the allocation, given before the host writes it",
                  and_advices({"none"}))
            .build();
    return d;
  }

  trace::Trace generate(int iterations) const override {
    TraceBuilder t = start("repeated_read");
    const trace::TensorId a = t.allocate(p_.size, TensorKind::Input);
    trace::Access whole = reads(a);
    if (p_.unroll > 1) whole.options = t.options({.unroll = p_.unroll});
    advise(t, p_.advice, {a});
    if (p_.cpu_init) host_writes(t, {a});
    for (int i = 0; i < iterations; ++i) {
      t.iteration(i);
      for (int round = 0; round < p_.rounds; ++round)
        t.kernel("read", launch(p_, p_.size.value / 4, p_.size.value), {whole});
      t.synchronize();
    }
    if (p_.read_back) host_reads(t, {a});
    return t.take();
  }
};

[[maybe_unused]] const bool kRegistered =
    add_plug_in<Generator, RepeatedRead>({.name = "repeated_read",
                                          .summary = "kernels that each read one whole allocation",
                                          .source = "reuse distance studies"});

}  // namespace
}  // namespace uvmsim::micro
