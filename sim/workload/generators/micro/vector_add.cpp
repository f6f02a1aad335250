#include <algorithm>

#include "trace/format.h"
#include "workload/generators/micro/micro.h"

namespace uvmsim::micro {
namespace {

constexpr std::int64_t kSector = 32;  // bytes: what a load of one element brings

struct Parameters : LaunchParameters {
  std::int64_t elements = 1 << 25;
  int element_bytes = 4;
  std::string mode = "grid";
  std::int64_t stride = 1;
  std::string loads = "together";
  int unroll = 1;
  bool in_place = false;
  bool init_result = true;
  Duration load_latency = nanoseconds(500);
};

// c = a + b over arrays of numbers, or a += b in place: the vector addition of NVIDIA's teaching material.
class VectorAdd final : public MicroGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_launch<Parameters>("adds two arrays")
            .integer("elements", &Parameters::elements, "elements per array", {1, kMostElements}, "elements")
            .integer("element_bytes", &Parameters::element_bytes, kElementBytesDoc, {4, 8}, "B")
            .text("mode", &Parameters::mode,
                  "who adds: one thread, one block, a grid with one thread per element, a grid whose threads "
                  "stride over the array, or one whose threads each take a contiguous chunk of it (grid and block "
                  "say how many)",
                  {"thread", "block", "grid", "grid_stride", "chunk"})
            .integer("stride", &Parameters::stride, "only every n-th element is added, n being this",
                     {1, kMostElements}, "elements")
            .text("loads", &Parameters::loads, "whether a thread loads b without waiting for a, or in turn",
                  {"together", "in_turn"})
            .integer("unroll", &Parameters::unroll,
                     "rounds of the loop that are loaded before any is stored: 4 for most compilers where the pointers "
                     "are __restrict__",
                     {1, trace::kMostUnrolled}, "rounds")
            .flag("in_place", &Parameters::in_place, "a = a + b instead of c = a + b")
            .flag("init_result", &Parameters::init_result, "with cpu_init: the host writes c too, not only a and b")
            .duration("load_latency", &Parameters::load_latency,
                      "time of one dependent load-add-store round that misses L1; bounds the in-core time of few "
                      "threads: each round moves one 32-byte sector or one number per thread (assumed)")
            .build();
    return d;
  }

  std::vector<std::string> contradictions() const override {
    const bool one_cta = p_.mode == "thread" || p_.mode == "block";
    std::vector<std::string> wrong = wrong_element(p_.element_bytes);
    if (one_cta && p_.grid > 1) wrong.emplace_back("mode \"" + p_.mode + "\" is one CTA, but grid is set");
    if (p_.mode == "thread" && p_.block > 1) wrong.emplace_back("mode \"thread\" is one thread, but block is set");
    if ((p_.mode == "grid_stride" || p_.mode == "chunk") && p_.grid == 0)
      wrong.emplace_back("mode \"" + p_.mode + "\" needs grid");
    if (p_.mode == "grid" && p_.grid > 0)
      wrong.emplace_back("mode \"grid\" has one thread per element; set grid only with mode \"grid_stride\"");
    if (p_.unroll > 1 && (p_.mode == "grid" || p_.mode == "chunk" || p_.stride > 1))
      wrong.emplace_back(
          "unroll is of a loop over consecutive elements: mode \"thread\", \"block\" or \"grid_stride\" with stride 1");
    if (p_.stride > p_.elements) wrong.emplace_back("stride is beyond the end of the arrays");
    return wrong;
  }

  trace::Trace generate(int iterations) const override {
    TraceBuilder t = start("vector_add");
    const std::int64_t bytes = p_.elements * p_.element_bytes;
    const trace::TensorId a = t.allocate(Bytes{bytes}, TensorKind::Input);
    const trace::TensorId b = t.allocate(Bytes{bytes}, TensorKind::Input);
    const trace::TensorId c = p_.in_place ? a : t.allocate(Bytes{bytes}, TensorKind::Other);
    if (p_.cpu_init) p_.in_place || !p_.init_result ? host_writes(t, {a, b}) : host_writes(t, {a, b, c});
    const trace::Kernel add = shape();
    for (int i = 0; i < iterations; ++i) {
      t.iteration(i);
      if (p_.in_place)
        t.kernel("add", add, {shaped(t, add, updates(a)), second(t, add, reads(b))});
      else
        t.kernel("add", add, {shaped(t, add, reads(a)), second(t, add, reads(b)), shaped(t, add, writes(c))});
      t.synchronize();
    }
    if (p_.read_back) host_reads(t, {c});
    return t.take();
  }

 private:
  std::int64_t added() const { return divide_up(p_.elements, p_.stride); }

  // Which elements a thread takes of an operand, and in which order.
  trace::PatternOptions order_of(const trace::Kernel& add) const {
    trace::PatternOptions o;
    o.element_bytes = p_.element_bytes;
    if (p_.stride > 1) o.width = p_.element_bytes, o.stride = p_.stride * p_.element_bytes;
    if (p_.mode == "chunk") o.chunk = divide_up(added(), add.grid * add.block) * p_.stride * p_.element_bytes;
    return o;
  }

  trace::Access shaped(TraceBuilder& t, const trace::Kernel& add, trace::Access access, bool dependent = false) const {
    trace::PatternOptions options = order_of(add);
    options.dependent = dependent;
    options.unroll = p_.unroll;
    if (p_.stride > 1) access.pattern = trace::Pattern::Strided;
    if (options != trace::PatternOptions{}) access.options = t.options(options);
    return access;
  }
  trace::Access second(TraceBuilder& t, const trace::Kernel& add, const trace::Access& access) const {
    return shaped(t, add, access, p_.loads == "in_turn");
  }

  trace::Kernel shape() const {
    Parameters p = p_;
    if (p_.mode == "thread") p.grid = p.block = 1;
    if (p_.mode == "block") p.grid = 1;
    trace::Kernel kernel = launch(p, added(), added() * 3 * (p_.stride > 1 ? kSector : p_.element_bytes));
    if (p_.duration.count() > 0) return kernel;
    // The numbers of a sector at least, where a thread finds the next ones in it.
    const std::int64_t per_round =
        std::max<std::int64_t>(p_.stride > 1 ? 1 : kSector / p_.element_bytes, kernel.grid * kernel.block);
    const std::int64_t by_latency = rounds_ns(p_.load_latency, divide_up(added(), per_round));
    kernel.duration_ns = std::max(kernel.duration_ns, by_latency);
    return kernel;
  }
};

[[maybe_unused]] const bool kRegistered =
    add_plug_in<Generator, VectorAdd>({.name = "vector_add",
                                       .summary = "c = a + b by one thread, one block or a grid, in any order",
                                       .source = "NVIDIA DLI and blog examples (Unified Memory for CUDA Beginners)"});

}  // namespace
}  // namespace uvmsim::micro
