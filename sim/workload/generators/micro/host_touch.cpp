#include <algorithm>
#include <string>
#include <vector>

#include "workload/generators/micro/micro.h"

namespace uvmsim::micro {
namespace {

// Where arrays may be found, each place reached from the one before.
const std::vector<std::string> kPlaces = {"untouched", "host", "gpu", "returned"};

struct Parameters {
  Bytes size{256 << 20};
  int arrays = 1;
  std::int64_t places = 0;
  bool cpu_init = true;
  std::string before = kPlaces.front();
  std::string step = "host_write";
};

// What managed memory costs the host: one host thread writes or reads arrays, or has them prefetched, after they were
// brought to where they are to be found. Only the step is in the iteration; a second one finds them where the first
// left them.
class HostTouch final : public MicroGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        Describe<Parameters>("the host touches managed memory, or has it prefetched")
            .bytes("size", &Parameters::size, "of each array", {4, {}})
            .integer("arrays", &Parameters::arrays, "arrays, one after the other", {1, 16}, "arrays")
            .integer("places", &Parameters::places,
                     "of each array, at equal distances, that the host touches a byte of; 0: it touches all",
                     {0, 0x1p20}, "places")
            .flag("cpu_init", &Parameters::cpu_init,
                  "the host writes the arrays before anything else, unless untouched")
            .text(
                "before", &Parameters::before,
                "where the arrays are: nobody touched them; on the host; then prefetched to the GPU; then to the host",
                kPlaces)
            .text("step", &Parameters::step, "what is measured",
                  {"host_write", "host_read", "prefetch_to_gpu", "prefetch_to_host"})
            .build();
    return d;
  }

  std::vector<std::string> contradictions() const override {
    if (p_.places <= p_.size.value) return {};
    return {"places is more than the bytes of an array"};
  }

  trace::Trace generate(int iterations) const override {
    TraceBuilder t = start("host_touch");
    std::vector<trace::TensorId> arrays;
    for (int i = 0; i < p_.arrays; ++i) arrays.push_back(t.allocate(p_.size, TensorKind::Other));
    const auto moves = std::ranges::find(kPlaces, p_.before) - kPlaces.begin();
    if (moves >= 1 && p_.cpu_init) run(t, "host_write", arrays);
    if (moves >= 2) run(t, "prefetch_to_gpu", arrays);
    if (moves >= 3) run(t, "prefetch_to_host", arrays);
    for (int i = 0; i < iterations; ++i) {
      t.iteration(i);
      run(t, p_.step, arrays);
    }
    return t.take();
  }

 private:
  void run(TraceBuilder& t, const std::string& step, const std::vector<trace::TensorId>& arrays) const {
    for (const trace::TensorId array : arrays) {
      if (step == "host_write") touch(t, writes(array));
      if (step == "host_read") touch(t, reads(array));
      if (step == "prefetch_to_gpu") t.append(trace::Prefetch{.tensor = array, .destination = kGpu});
      if (step == "prefetch_to_host") t.append(trace::Prefetch{.tensor = array, .destination = kHost});
    }
    t.synchronize();
  }

  void touch(TraceBuilder& t, const trace::Access& array) const {
    if (p_.places == 0) return t.host_step({array});
    for (std::int64_t i = 0; i < p_.places; ++i) t.host_step({at(array, p_.size.value / p_.places * i, 1)});
  }
};

[[maybe_unused]] const bool kRegistered =
    add_plug_in<Generator, HostTouch>({.name = "host_touch",
                                       .summary = "the host touches managed memory, or has it prefetched",
                                       .source = "gpu_ext: experiments/uvm_basic; capture/microbench/host_touch.cu"});

}  // namespace
}  // namespace uvmsim::micro
