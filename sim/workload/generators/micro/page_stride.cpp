#include "workload/generators/micro/micro.h"

namespace uvmsim::micro {
namespace {

struct Parameters : HostParameters {
  int pages = 32;
  Bytes stride{4096};
  Duration duration = microseconds(2);
};

// c = a + b at one float per page, by one CTA with one thread per page: each warp faults on as many pages
// as it has threads. The compiler issues the load of b before that of a, so the operands stand in that
// order: the first batch of the measured log holds 32 faults of b and 24 of a.
class PageStride final : public MicroGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_host<Parameters>("c = a + b at one float per page, by one CTA")
            .integer("pages", &Parameters::pages, "pages of each array, and threads", {1, 1024}, "pages")
            .bytes("stride", &Parameters::stride, "from one thread's float to the next one's", {4, {}})
            .duration("duration", &Parameters::duration, "in-core time of one kernel; default: an empty launch")
            .build();
    return d;
  }

  trace::Trace generate(int iterations) const override {
    TraceBuilder t = start("page_stride");
    const std::int64_t bytes = p_.stride.value * p_.pages;
    const Bytes padded{divide_up(bytes, kBlockBytes) * kBlockBytes};  // pad_2MB in the source
    const trace::TensorId a = t.allocate(padded, TensorKind::Input);
    const trace::TensorId b = t.allocate(padded, TensorKind::Input);
    const trace::TensorId c = t.allocate(padded, TensorKind::Other);
    if (p_.cpu_init) {
      t.phase("host initialisation");
      for (const trace::TensorId tensor : {a, b, c}) t.host_step({at(writes(tensor), 0, bytes)});
    }
    const std::int32_t stride = t.options({.width = 4, .stride = p_.stride.value});
    trace::Kernel add;
    add.grid = 1;
    add.block = p_.pages;
    add.duration_ns = p_.duration.count() / 1000;
    const auto pages = [&](trace::Access access) {
      access.pattern = trace::Pattern::Strided;
      access.options = stride;
      return at(access, 0, bytes);
    };
    for (int i = 0; i < iterations; ++i) {
      t.iteration(i);
      t.kernel("add", add, {pages(reads(b)), pages(reads(a)), pages(writes(c))});
      t.synchronize();
    }
    if (p_.read_back) t.host_step({at(reads(c), 0, bytes)});
    return t.take();
  }
};

[[maybe_unused]] const bool kRegistered =
    add_plug_in<Generator, PageStride>({.name = "page_stride",
                                        .summary = "c = a + b at one float per page, one CTA",
                                        .source = "Allen & Ge, uvm-eval: the abc logs"});

}  // namespace
}  // namespace uvmsim::micro
