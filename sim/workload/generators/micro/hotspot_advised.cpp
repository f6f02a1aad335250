#include <utility>

#include "workload/generators/micro/micro.h"

namespace uvmsim::micro {
namespace {

constexpr std::int64_t kCta = 16;    // a CTA is 16 x 16 threads
constexpr std::int64_t kBorder = 2;  // elements on each side of a tile: two time steps per launch
constexpr int kRegisters = 40;       // of a thread, as Nsight Compute has it beside XPlacer's times

// Where an array lives and what the program tells the driver of it: XPlacer's numbers 0 to 6, in this order.
std::vector<std::string> memories() { return and_advices({"explicit", "managed"}); }

struct Parameters : TimeParameters {
  std::int64_t n = 8192;
  std::string temp = "managed", power = "managed";
};

bool managed(const std::string& memory) { return memory != "explicit"; }

// Rodinia's hotspot at pyramid height 2: a CTA loads 16 x 16 elements of temp and power into shared memory
// and writes the 12 x 12 inside them to temp_out, which nobody touched before. Source: XPlacer's
// rodinia_3.1/cuda/hotspot/hotspot-adapt.cu. The host reads both files into managed memory, then advises, then
// launches; explicit arrays are filled by cudaMemcpy.
class HotspotAdvised final : public MicroGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_time<Parameters>(
            "one launch of Rodinia's hotspot per iteration, its arrays placed as the parameters say")
            .integer("n", &Parameters::n, "rows and columns of each float array", {1, kMostSide}, "elements")
            .text("temp", &Parameters::temp,
                  "memory of temp and temp_out: explicit (cudaMalloc), managed, or managed and advised", memories())
            .text("power", &Parameters::power, "the same for power", memories())
            .build();
    return d;
  }

  trace::Trace generate(int iterations) const override {
    TraceBuilder t = start("hotspot_advised");
    trace::TensorId temp = allocate(t, p_.temp, TensorKind::Input);
    const trace::TensorId power = allocate(t, p_.power, TensorKind::Input);
    if (p_.cpu_init && managed(p_.temp)) host_writes(t, {temp});
    if (p_.cpu_init && managed(p_.power)) host_writes(t, {power});
    trace::TensorId temp_out = allocate(t, p_.temp, TensorKind::Other);
    advise(t, p_.temp, {temp, temp_out});
    advise(t, p_.power, {power});
    if (!managed(p_.temp)) copy_in(t, temp);
    if (!managed(p_.power)) copy_in(t, power);
    const std::int32_t grid =
        t.options({.rows = p_.n, .columns = p_.n, .leading_dimension = p_.n * 4, .count = kBorder});
    const std::int64_t side = divide_up(p_.n, kCta - 2 * kBorder);
    trace::Kernel step = timed(p_, side * side, kCta * kCta, bytes().value * 3);
    step.registers = kRegisters;
    constexpr trace::Pattern kRead = trace::Pattern::Stencil, kWrite = trace::Pattern::Grid2d;
    for (int i = 0; i < iterations; ++i) {
      t.iteration(i);
      t.kernel("calculate_temp", step,
               {reads(power, kRead, grid), reads(temp, kRead, grid), writes(temp_out, kWrite, grid)});
      t.synchronize();
      std::swap(temp, temp_out);
    }
    if (p_.read_back && managed(p_.temp)) host_reads(t, {temp});
    return t.take();
  }

 private:
  Bytes bytes() const { return Bytes{p_.n * p_.n * 4}; }

  trace::TensorId allocate(TraceBuilder& t, const std::string& memory, TensorKind kind) const {
    return t.allocate(bytes(), kind, static_cast<int>(managed(memory) ? trace::Space::Managed : trace::Space::Device));
  }

  void copy_in(TraceBuilder& t, trace::TensorId tensor) const {
    trace::Copy copy;
    copy.bytes = bytes().value;
    copy.pinned = copy.asynchronous = false;
    t.copy(copy, {writes(tensor)});
  }
};

[[maybe_unused]] const bool kRegistered =
    add_plug_in<Generator, HotspotAdvised>({.name = "hotspot_advised",
                                            .summary = "Rodinia's hotspot under every kind of memory advice",
                                            .source = "Xu et al., XPlacer: optimal_unified_memory"});

}  // namespace
}  // namespace uvmsim::micro
