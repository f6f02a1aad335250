#include "workload/generators/micro/micro.h"

namespace uvmsim::micro {
namespace {

struct Parameters : LaunchParameters {
  Bytes size{1 << 30};
  int kernels = 16;
};

// N kernels, each reading and writing its piece of one allocation; a round over all pieces is an iteration.
class ChunkStream final : public MicroGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_launch<Parameters>("kernels update one piece each of a large allocation, round after round")
            .bytes("size", &Parameters::size, "of the allocation", {4, {}})
            .integer("kernels", &Parameters::kernels, "kernels of one round", {1, {}}, "kernels")
            .build();
    return d;
  }

  std::vector<std::string> contradictions() const override {
    if (p_.size.value / p_.kernels >= 4) return {};
    return {"size is too small to give every kernel a float"};
  }

  trace::Trace generate(int iterations) const override {
    TraceBuilder t = start("chunk_stream");
    const trace::TensorId a = t.allocate(p_.size, TensorKind::Other);
    if (p_.cpu_init) host_writes(t, {a});
    const auto piece_start = [&](std::int64_t k) { return p_.size.value / 4 * k / p_.kernels * 4; };
    for (int i = 0; i < iterations; ++i) {
      t.iteration(i);
      for (int k = 0; k < p_.kernels; ++k) {
        const std::int64_t first = piece_start(k);
        const std::int64_t length = piece_start(k + 1) - first;
        t.kernel("update", launch(p_, length / 4, length * 2), {at(updates(a), first, length)});
      }
      t.synchronize();
    }
    if (p_.read_back) host_reads(t, {a});
    return t.take();
  }
};

[[maybe_unused]] const bool kRegistered =
    add_plug_in<Generator, ChunkStream>({.name = "chunk_stream",
                                         .summary = "kernels that update a large allocation piece by piece",
                                         .source = "streaming oversubscription studies"});

}  // namespace
}  // namespace uvmsim::micro
