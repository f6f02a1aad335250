#include <string>
#include <vector>

#include "workload/generators/micro/micro.h"

namespace uvmsim::micro {
namespace {

enum class Place { Untouched, Host, Gpu, Returned };
enum class Step { HostWrite, HostRead, PrefetchToGpu, PrefetchToHost };

struct Parameters {
  Bytes size{256 << 20};
  int arrays = 1;
  Bytes stride{0};
  bool cpu_init = true;
  Place before = Place::Untouched;
  Step step = Step::HostWrite;
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
            .bytes("stride", &Parameters::stride,
                   "from one place that the host touches to the next, a byte each; 0: it touches all", {0, {}})
            .flag("cpu_init", &Parameters::cpu_init,
                  "the host writes the arrays before anything else, unless untouched")
            .choice(
                "before", &Parameters::before,
                "where the arrays are before: nobody touched them; on the host; prefetched to the GPU; and then back "
                "to the host",
                {"untouched", "host", "gpu", "returned"})
            .choice("step", &Parameters::step, "what is measured",
                    {"host_write", "host_read", "prefetch_to_gpu", "prefetch_to_host"})
            .build();
    return d;
  }

  trace::Trace generate(int iterations) const override {
    TraceBuilder t = start("host_touch");
    std::vector<trace::TensorId> arrays;
    for (int i = 0; i < p_.arrays; ++i) arrays.push_back(t.allocate(p_.size, TensorKind::Other));
    if (p_.before >= Place::Host && p_.cpu_init) run(t, Step::HostWrite, arrays);
    if (p_.before >= Place::Gpu) run(t, Step::PrefetchToGpu, arrays);
    if (p_.before >= Place::Returned) run(t, Step::PrefetchToHost, arrays);
    for (int i = 0; i < iterations; ++i) {
      t.iteration(i);
      run(t, p_.step, arrays);
    }
    return t.take();
  }

 private:
  void run(TraceBuilder& t, Step step, const std::vector<trace::TensorId>& arrays) const {
    for (const trace::TensorId array : arrays) {
      if (step == Step::HostWrite) touch(t, writes(array));
      if (step == Step::HostRead) touch(t, reads(array));
      if (step == Step::PrefetchToGpu) t.append(trace::Prefetch{.tensor = array, .destination = kGpu});
      if (step == Step::PrefetchToHost) t.append(trace::Prefetch{.tensor = array, .destination = kHost});
    }
    t.synchronize();
  }

  void touch(TraceBuilder& t, const trace::Access& array) const {
    if (p_.stride.value == 0) return t.host_step({array});
    for (std::int64_t place = 0; place < p_.size.value; place += p_.stride.value) t.host_step({at(array, place, 1)});
  }

  static constexpr std::int8_t kHost = -1, kGpu = 0;
};

[[maybe_unused]] const bool kRegistered =
    add_plug_in<Generator, HostTouch>({.name = "host_touch",
                                       .summary = "the host touches managed memory, or has it prefetched",
                                       .source = "gpu_ext: experiments/uvm_basic; capture/microbench/host_touch.cu"});

}  // namespace
}  // namespace uvmsim::micro
