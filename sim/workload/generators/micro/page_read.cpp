#include <algorithm>

#include "workload/generators/micro/micro.h"

namespace uvmsim::micro {
namespace {

struct Parameters : HostParameters {
  Bytes size{1 << 20};
  Bytes stride{4096};
  std::int64_t grid = 0;
  int block = 64;
  bool write = false;
  bool prefetch_back = false;
  Duration duration{};
  BytesPerSecond device_bandwidth{900'000'000'000};
};

// A grid whose thread t reads (or writes) one float of page t: a warp faults on 32 pages, and no two threads share one.
// Fewer threads than pages take every so many.
// Source: uvm-eval, archive/benchmarksv3/linear/page.cu (kernel uvmer2, 64 threads per CTA); Comm|Scope's gpu_write,
// one lane of each of 8 warps per CTA, is 256 CTAs of 8 threads.
class PageRead final : public MicroGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_host<Parameters>("a grid touches one float per page, one page per thread")
            .bytes("size", &Parameters::size, "of the allocation", {4, {}})
            .bytes("stride", &Parameters::stride, "from one thread's float to the next one's", {4, {}})
            .integer("grid", &Parameters::grid, "CTAs; 0: one thread per page", {0, 0x1p40}, "CTAs")
            .integer("block", &Parameters::block, "threads per CTA", {1, 1024}, "threads")
            .flag("write", &Parameters::write, "the grid writes the floats and reads nothing")
            .flag("prefetch_back", &Parameters::prefetch_back, kPrefetchBackDoc)
            .duration("duration", &Parameters::duration,
                      "in-core time; 0: a 32-byte sector per thread over device_bandwidth")
            .bandwidth("device_bandwidth", &Parameters::device_bandwidth,
                       "memory bandwidth that the in-core time is computed from (default: V100-SXM2 data sheet)",
                       {1, {}})
            .build();
    return d;
  }

  trace::Trace generate(int iterations) const override {
    constexpr std::int64_t kSector = 32;
    TraceBuilder t = start("page_read");
    const trace::TensorId a = t.allocate(p_.size, TensorKind::Input);
    if (p_.cpu_init) host_writes(t, {a});
    const std::int64_t threads = divide_up(p_.size.value, p_.stride.value);
    const std::int32_t stride = t.options({.width = 4, .stride = p_.stride.value});
    TimeParameters time;
    time.duration = p_.duration;
    time.device_bandwidth = p_.device_bandwidth;
    const std::int64_t grid = p_.grid > 0 ? p_.grid : divide_up(threads, p_.block);
    const trace::Kernel touch = timed(time, grid, p_.block, threads * kSector);
    const trace::Access place =
        p_.write ? writes(a, trace::Pattern::Strided, stride) : reads(a, trace::Pattern::Strided, stride);
    for (int i = 0; i < iterations; ++i) {
      if (i > 0 && p_.prefetch_back) prefetch_back(t, a);
      t.iteration(i);
      t.kernel(p_.write ? "write" : "read", touch, {place});
      t.synchronize();
    }
    if (p_.read_back) host_reads(t, {a});
    return t.take();
  }
};

[[maybe_unused]] const bool kRegistered =
    add_plug_in<Generator, PageRead>({.name = "page_read",
                                      .summary = "a grid reads one float per page, one page per thread",
                                      .source = "Allen & Ge, uvm-eval: linear, the overhead curve"});

}  // namespace
}  // namespace uvmsim::micro
