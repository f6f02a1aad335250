#include "workload/generators/micro/micro.h"

namespace uvmsim::micro {
namespace {

struct Parameters : HostParameters {
  std::int64_t blocks = 14;
  std::int64_t touches = 2;
  Bytes apart{256 << 10};
  Bytes resident{0};
  bool at_once = false;
  bool within = false;
};

// A place in each of some blocks is touched, then another place in each, and so on: what a fault batch costs and what a
// block in it, by one thread, each fault a batch of its own, or by a warp. With `resident` the GPU has that much of
// each block before, but for the 64 KiB of the first touch. `within`: all places of a block at once, block after block.
class BlockTouches final : public MicroGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_host<Parameters>("a kernel touches a place in each of some blocks, then the next kernel another")
            .integer("blocks", &Parameters::blocks, "of 2 MiB; a thread each where they are touched at once", {1, 1024},
                     "blocks")
            .integer("touches", &Parameters::touches, "places of each block", {1, 32}, "places")
            .bytes("apart", &Parameters::apart, "from one place of a block to the next", {1, 2 << 20})
            .bytes("resident", &Parameters::resident,
                   "of each block prefetched to the GPU before, but for the 64 KiB of the first touch, which is then "
                   "`apart` from the block's begin",
                   {0, 2 << 20})
            .flag("at_once", &Parameters::at_once, "a thread for each block; else one thread touches them in turn")
            .flag("within", &Parameters::within, "a thread for each place of a block, one kernel for each block")
            .build();
    return d;
  }

  std::vector<std::string> contradictions() const override {
    std::vector<std::string> wrong;
    const std::int64_t last = begin() + (p_.touches - 1) * p_.apart.value;
    if (last + kPlaceBytes > kBlockBytes) wrong.emplace_back("touches x apart is beyond the end of a block");
    if (p_.within && p_.at_once) wrong.emplace_back("within and at_once are both given: which threads run at once?");
    if (p_.resident.value > 0 && p_.apart.value % kRun != 0) wrong.emplace_back("apart is not a multiple of 64 KiB");
    return wrong;
  }

  trace::Trace generate(int iterations) const override {
    TraceBuilder t = start("block_touches");
    for (int i = 0; i < iterations; ++i) {
      t.iteration(i);
      const trace::TensorId a = t.allocate(Bytes{p_.blocks * kBlockBytes}, TensorKind::Other);
      if (p_.cpu_init) host_writes(t, {a});
      if (p_.resident.value > 0) bring(t, a);
      if (p_.within) {
        for (std::int64_t block = 0; block < p_.blocks; ++block)
          touch(t, a, {block * kBlockBytes, p_.apart.value, p_.touches, true});
      } else {
        for (std::int64_t k = 0; k < p_.touches; ++k)
          touch(t, a, {begin() + k * p_.apart.value, kBlockBytes, p_.blocks, p_.at_once});
      }
      if (p_.read_back) host_reads(t, {a});
      t.free(a);
    }
    return t.take();
  }

 private:
  static constexpr std::int64_t kRun = 64 << 10;

  // Of the first touch, in a block.
  std::int64_t begin() const { return p_.resident.value > 0 ? p_.apart.value : 0; }

  void bring(TraceBuilder& t, trace::TensorId a) const {
    for (std::int64_t block = 0; block < p_.blocks; ++block) {
      const auto prefetch = [&](std::int64_t from, std::int64_t to) {
        if (to > from)
          t.append(trace::Prefetch{
              .tensor = a, .offset = block * kBlockBytes + from, .length = to - from, .destination = kGpu});
      };
      prefetch(0, std::min(begin(), p_.resident.value));
      prefetch(begin() + kRun, p_.resident.value);
    }
    t.synchronize();
  }

  static void touch(TraceBuilder& t, trace::TensorId a, const Places& places) {
    t.kernel("touch", kernel_over(places), {reads_places(t, a, places)});
    t.synchronize();
  }
};

[[maybe_unused]] const bool kRegistered =
    add_plug_in<Generator, BlockTouches>({.name = "block_touches",
                                          .summary = "kernels that touch a place in each of some blocks",
                                          .source = "capture/microbench/block_cost.cu"});

}  // namespace
}  // namespace uvmsim::micro
