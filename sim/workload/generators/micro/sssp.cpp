#include <algorithm>

#include "workload/generators/micro/micro.h"

namespace uvmsim::micro {
namespace {

constexpr int kBlock = 16;  // threads per CTA, as in the source: half a warp

struct Parameters : TimeParameters {
  std::int64_t vertices = 1 << 20;
  std::int64_t degree = 2;
  int rounds = 15;
};

// Shortest paths from one vertex of a random graph, breadth first: one kernel sets the distances, then each round
// follows the edges of the vertices found in the round before (`degree` times as many, anywhere: where a vertex's edges
// begin says where they are, their ends whose distance is updated) and takes over the new distances. The host writes
// the graph: where each vertex's edges begin, their ends, their weights. The two arrays of distances are first touched
// by the GPU. The marks of found vertices are in memory of cudaMalloc.
class Sssp final : public MicroGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_time<Parameters>("single-source shortest paths over a random graph")
            .integer("vertices", &Parameters::vertices, "of the graph", {1, kMostElements}, "vertices")
            .integer("degree", &Parameters::degree, "edges from each vertex", {1, kMostSide}, "edges")
            .integer("rounds", &Parameters::rounds, "rounds, two kernels each", {1, {}}, "rounds")
            .build();
    return d;
  }

  trace::Trace generate(int iterations) const override {
    TraceBuilder t = start("sssp");
    const Bytes per_vertex{p_.vertices * 4}, per_edge{p_.vertices * p_.degree * 4};
    const trace::TensorId begins = t.allocate(per_vertex, TensorKind::Input);
    const trace::TensorId ends = t.allocate(per_edge, TensorKind::Input);
    const trace::TensorId weights = t.allocate(per_edge, TensorKind::Input);
    const trace::TensorId distances = t.allocate(per_vertex, TensorKind::Other);
    const trace::TensorId updates_of = t.allocate(per_vertex, TensorKind::Other);
    if (p_.cpu_init) host_writes(t, {begins, ends, weights});
    const trace::Kernel all = timed(p_, divide_up(p_.vertices, kBlock), kBlock, per_vertex.value * 2);
    for (int i = 0; i < iterations; ++i) {
      t.iteration(i);
      t.kernel("initializeArrays", all, {writes(distances), writes(updates_of)});
      std::int64_t found = 1;
      for (int round = 0; round < p_.rounds; ++round) {
        const auto some = [&](std::int64_t count) { return t.options({.width = 4, .count = count}); };
        const auto next = [&](std::int64_t count) {
          return t.options({.width = 4, .count = count, .dependent = true});
        };
        constexpr trace::Pattern kRandom = trace::Pattern::Random;
        t.kernel("Kernel1", all,
                 {reads(begins, kRandom, some(found)), reads(ends, kRandom, next(found)),
                  reads(weights, kRandom, some(found)), updates(updates_of, kRandom, next(found * p_.degree))});
        t.kernel("Kernel2", all, {updates(distances), updates(updates_of)});
        found = std::min(found * p_.degree, p_.vertices);
      }
      t.synchronize();
    }
    if (p_.read_back) host_reads(t, {distances});
    return t.take();
  }
};

[[maybe_unused]] const bool kRegistered =
    add_plug_in<Generator, Sssp>({.name = "sssp",
                                  .summary = "single-source shortest paths over a random graph",
                                  .source = "UVMSmart's sssp, 2^20 vertices"});

}  // namespace
}  // namespace uvmsim::micro
