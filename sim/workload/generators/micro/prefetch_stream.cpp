#include "workload/generators/micro/micro.h"

namespace uvmsim::micro {
namespace {

struct Parameters : LaunchParameters {
  Bytes size{1 << 30};
  int pieces = 16;
  int ahead = 0;
  bool back = false;
};

// Updates one allocation piece by piece, prefetching each piece with cudaMemPrefetchAsync before its kernel.
class PrefetchStream final : public MicroGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_launch<Parameters>("kernels update one piece each of an allocation, prefetched before")
            .bytes("size", &Parameters::size, "of the allocation", {4, {}})
            .integer("pieces", &Parameters::pieces, "pieces, and kernels per iteration", {1, {}}, "kernels")
            .integer("ahead", &Parameters::ahead,
                     "pieces prefetched ahead of the running kernel, on a second stream; 0: each just before its "
                     "kernel, on the same stream",
                     {0, {}}, "pieces")
            .flag("back", &Parameters::back, "prefetch each piece back to the host after its kernel")
            .build();
    return d;
  }

  std::vector<std::string> contradictions() const override {
    std::vector<std::string> wrong;
    if (p_.size.value / p_.pieces < 4) wrong.push_back("size is too small to give every kernel a float");
    if (p_.ahead >= p_.pieces) wrong.push_back("ahead must be smaller than pieces");
    return wrong;
  }

  trace::Trace generate(int iterations) const override {
    TraceBuilder t = start("prefetch_stream");
    const trace::TensorId a = t.allocate(p_.size, TensorKind::Other);
    if (p_.cpu_init) host_writes(t, {a});
    for (int i = 0; i < iterations; ++i) {
      t.iteration(i);
      for (int piece = 0; piece < p_.ahead; ++piece) prefetch(t, a, piece);
      for (int piece = 0; piece < p_.pieces; ++piece) {
        if (piece + p_.ahead < p_.pieces) prefetch(t, a, piece + p_.ahead);
        if (p_.ahead > 0) t.append(trace::EventWait{.event = piece, .stream = kCompute});
        const std::int64_t length = start_of(piece + 1) - start_of(piece);
        t.kernel("update", launch(p_, length / 4, length * 2), {at(updates(a), start_of(piece), length)});
        if (p_.back) t.append(range(a, piece, -1, kCompute));
      }
      t.synchronize();
    }
    if (p_.read_back) host_reads(t, {a});
    return t.take();
  }

 private:
  static constexpr std::int32_t kCompute = 0, kPrefetch = 1;  // streams

  std::int64_t start_of(std::int64_t piece) const { return p_.size.value / 4 * piece / p_.pieces * 4; }

  trace::Prefetch range(trace::TensorId a, int piece, std::int8_t destination, std::int32_t stream) const {
    return {.tensor = a,
            .offset = start_of(piece),
            .length = start_of(piece + 1) - start_of(piece),
            .destination = destination,
            .stream = stream};
  }

  void prefetch(TraceBuilder& t, trace::TensorId a, int piece) const {
    if (p_.ahead == 0) return t.append(range(a, piece, 0, kCompute));
    t.append(range(a, piece, 0, kPrefetch));
    t.append(trace::EventRecord{.event = piece, .stream = kPrefetch});
  }
};

[[maybe_unused]] const bool kRegistered = add_plug_in<Generator, PrefetchStream>(
    {.name = "prefetch_stream",
     .summary = "a large allocation updated piece by piece, each piece prefetched first",
     .source = "CUDA programming guide: cudaMemPrefetchAsync"});

}  // namespace
}  // namespace uvmsim::micro
