#include "workload/generators/micro/micro.h"

namespace uvmsim::micro {
namespace {

struct Parameters : LaunchParameters {
  Bytes size{1 << 30};
  int kernels = 16;
  int element_bytes = 4;
  std::string access = "update";
};

// N kernels, each reading, or reading and writing, its piece of one allocation; a round over all pieces is an
// iteration.
class ChunkStream final : public MicroGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_launch<Parameters>("kernels access one piece each of a large allocation, round after round")
            .bytes("size", &Parameters::size, "of the allocation", {4, {}})
            .integer("kernels", &Parameters::kernels, "kernels of one round", {1, {}}, "kernels")
            .integer("element_bytes", &Parameters::element_bytes, kElementBytesDoc, {4, 8}, "B")
            .text("access", &Parameters::access, "what a kernel does with its piece", {"update", "read"})
            .build();
    return d;
  }

  std::vector<std::string> contradictions() const override {
    std::vector<std::string> wrong = wrong_element(p_.element_bytes);
    if (p_.size.value / p_.kernels < p_.element_bytes)
      wrong.emplace_back("size is too small to give every kernel a number");
    return wrong;
  }

  trace::Trace generate(int iterations) const override {
    TraceBuilder t = start("chunk_stream");
    const trace::TensorId a = t.allocate(p_.size, TensorKind::Other);
    if (p_.cpu_init) host_writes(t, {a});
    const std::int64_t element = p_.element_bytes;
    const auto piece_start = [&](std::int64_t k) { return p_.size.value / element * k / p_.kernels * element; };
    const bool reads_only = p_.access == "read";
    trace::Access whole = reads_only ? reads(a) : updates(a);
    if (element != 4) whole.options = t.options({.element_bytes = element});
    for (int i = 0; i < iterations; ++i) {
      t.iteration(i);
      for (int k = 0; k < p_.kernels; ++k) {
        const std::int64_t first = piece_start(k);
        const std::int64_t length = piece_start(k + 1) - first;
        t.kernel(p_.access, launch(p_, length / element, reads_only ? length : length * 2), {at(whole, first, length)});
      }
      t.synchronize();
    }
    if (p_.read_back) host_reads(t, {a});
    return t.take();
  }
};

[[maybe_unused]] const bool kRegistered =
    add_plug_in<Generator, ChunkStream>({.name = "chunk_stream",
                                         .summary = "kernels that update or read a large allocation piece by piece",
                                         .source = "streaming oversubscription studies"});

}  // namespace
}  // namespace uvmsim::micro
