#include "workload/generators/micro/micro.h"

namespace uvmsim::micro {
namespace {

struct Parameters {
  std::int64_t blocks = 16;
  std::int64_t runs = 16;
  std::int64_t pages = 1;
  bool at_once = false;
};

// Blocks that the GPU has, but for some runs of pages that were prefetched back to the host. The kernel touches the
// first page of each; since more than half of a block is there, one fault brings in all that is missing. What it takes
// is what the driver pays for a block, a run and a page: in turn by one thread, each fault a batch of its own, or by a
// warp.
class ReturnedRuns final : public MicroGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        Describe<Parameters>("a kernel touches blocks of which some runs are on the host")
            .integer("blocks", &Parameters::blocks, "of 2 MiB; a thread each where they are touched at once", {1, 1024},
                     "blocks")
            .integer("runs", &Parameters::runs, "of each block that are on the host, evenly apart", {1, 256}, "runs")
            .integer("pages", &Parameters::pages, "of each run, of 4 KiB", {1, 256}, "pages")
            .flag("at_once", &Parameters::at_once, "a thread for each block; else one thread touches them in turn")
            .build();
    return d;
  }

  std::vector<std::string> contradictions() const override {
    if (2 * p_.runs * p_.pages * kPageBytes <= kBlockBytes) return {};
    return {"runs x pages is more than half of a block: a fault would not bring in all of them"};
  }

  trace::Trace generate(int iterations) const override {
    TraceBuilder t = start("returned_runs");
    const trace::TensorId a = t.allocate(Bytes{p_.blocks * kBlockBytes}, TensorKind::Other);
    t.append(trace::Prefetch{.tensor = a, .destination = kGpu});
    const Places places{.stride = kBlockBytes, .count = p_.blocks, .at_once = p_.at_once};
    const trace::Access first_pages = reads_places(t, a, places);
    for (int i = 0; i < iterations; ++i) {
      t.iteration(i);
      send_back(t, a);
      t.kernel("touch", kernel_over(places), {first_pages});
      t.synchronize();
    }
    return t.take();
  }

 private:
  void send_back(TraceBuilder& t, trace::TensorId a) const {
    for (std::int64_t block = 0; block < p_.blocks; ++block)
      for (std::int64_t run = 0; run < p_.runs; ++run)
        t.append(
            trace::Prefetch{.tensor = a,
                            .offset = block * kBlockBytes + run * (kBlockBytes / kPageBytes / p_.runs) * kPageBytes,
                            .length = p_.pages * kPageBytes,
                            .destination = kHost});
    t.synchronize();
  }
};

[[maybe_unused]] const bool kRegistered =
    add_plug_in<Generator, ReturnedRuns>({.name = "returned_runs",
                                          .summary = "a kernel touches blocks of which some runs are on the host",
                                          .source = "capture/microbench/run_cost.cu"});

}  // namespace
}  // namespace uvmsim::micro
