#include <set>

#include "base/user_error.h"
#include "workload/edit.h"
#include "workload/transform.h"
#include "workload/unused.h"

namespace uvmsim {
namespace {

struct BlueConnectOptions {
  int group = 8;

  static const Description& description() {
    static const Description d =
        Describe<BlueConnectOptions>("blueconnect: all-reduces along the hierarchy of the machine")
            .integer("group", &BlueConnectOptions::group,
                     "GPUs with fast links between them, such as those of a server: neighbours by number", {2, 1024},
                     "GPUs")
            .build();
    return d;
  }
};

// An all-reduce of all replicas becomes three: a reduce-scatter in each group, an all-reduce of the parts across the
// groups, each of as many GPUs as there are groups, and an all-gather in each group. Each on a stream of its own, so
// that one bucket crosses between groups while the next is reduced within them; on the stream of kernels, which wait
// for it, there is nothing to overlap.
class BlueConnect final : public With<Transform, BlueConnectOptions> {
 public:
  Needs needs() const override { return Needs::Replicas; }

  trace::Trace apply(trace::Trace trace) const override {
    const Unused unused(trace);
    std::set<std::int32_t> of_kernels;
    for (const trace::Record& record : trace.records)
      if (const auto* kernel = std::get_if<trace::Kernel>(&record)) of_kernels.insert(kernel->stream);
    std::vector<std::pair<std::size_t, trace::Record>> inserted;
    std::set<std::int32_t> gathered;  // streams whose sums end on another one
    std::size_t sums = 0;
    for (std::size_t i = 0; i < trace.records.size(); ++i) {
      if (const auto* record = std::get_if<trace::EventRecord>(&trace.records[i]);
          record != nullptr && gathered.contains(record->stream))
        follow(inserted, i, unused.event + 2, unused.stream + 1, record->stream);
      auto* sum = std::get_if<trace::CollectiveOp>(&trace.records[i]);
      if (sum == nullptr || sum->kind != trace::Collective::AllReduce || sum->ranks > 0 || sum->stride > 1) continue;
      ++sums;
      const bool alone = of_kernels.contains(sum->stream);
      if (!alone) gathered.insert(sum->stream);
      decompose(*sum, i, unused, alone, inserted);
    }
    if (sums == 0)
      throw UserError(trace.header.name, "blueconnect selects nothing: the trace has no all-reduce of all replicas");
    insert(trace, std::move(inserted));
    note_transform(trace, "all-reduces decomposed");
    return trace;
  }

 private:
  using Inserted = std::vector<std::pair<std::size_t, trace::Record>>;

  // `after` goes on once what `before` has got is done.
  static void follow(Inserted& inserted, std::size_t at, std::int32_t event, std::int32_t before, std::int32_t after) {
    inserted.emplace_back(at, trace::EventRecord{.event = event, .stream = before});
    inserted.emplace_back(at, trace::EventWait{.event = event, .stream = after});
  }

  // `sum`, the record `at`, becomes the reduce-scatter; the others follow it.
  void decompose(trace::CollectiveOp& sum, std::size_t at, const Unused& unused, bool alone, Inserted& inserted) const {
    trace::CollectiveOp across = sum, gather = sum;
    sum.kind = trace::Collective::ReduceScatter;
    gather.kind = trace::Collective::AllGather;
    sum.ranks = gather.ranks = across.stride = options_.group;
    across.bytes = (sum.bytes + options_.group - 1) / options_.group;
    sum.communicator = unused.communicator;
    across.communicator = unused.communicator + 1;
    gather.communicator = unused.communicator + 2;
    if (!alone) {
      across.stream = unused.stream;
      gather.stream = unused.stream + 1;
      follow(inserted, at + 1, unused.event, sum.stream, across.stream);
    }
    inserted.emplace_back(at + 1, across);
    if (!alone) follow(inserted, at + 1, unused.event + 1, across.stream, gather.stream);
    inserted.emplace_back(at + 1, gather);
  }
};

const bool kRegistered = add_plug_in<Transform, BlueConnect>(
    {.name = "blueconnect",
     .summary = "each all-reduce as a reduce-scatter in servers, an all-reduce across them and an all-gather",
     .source = "Cho et al., BlueConnect, SysML 2019; Daydream, ATC 2020, section 5.2",
     .on_hardware = "a library of collectives that knows the machine; gains only with several servers"});

}  // namespace
}  // namespace uvmsim
