#include "workload/edit.h"
#include "workload/priority_sync.h"
#include "workload/transform.h"

namespace uvmsim {
namespace {

struct DlcpOptions {
  Bytes packets{64 << 10};
  double loss = 0.01;

  static const Description& description() {
    static const Description d =
        Describe<DlcpOptions>("dlcp: packets of gradients by layer and magnitude, some of which may be lost")
            .bytes("packets", &DlcpOptions::packets, "of one layer that switches queue together", {1024, {}})
            .number(
                "loss", &DlcpOptions::loss,
                "share of each gradient, its smallest values, that switches drop where packets queue up, and nobody "
                "sends again; what training tolerates is an input",
                {0, 0.99})
            .build();
    return d;
  }
};

// P3's order of layers, and a bounded loss. Which values are the smallest makes no difference to the time.
class Dlcp final : public With<Transform, DlcpOptions> {
 public:
  Needs needs() const override { return Needs::Replicas; }

  trace::Trace apply(trace::Trace trace) const override {
    trace::Trace sent =
        sync_by_priority(std::move(trace), {.slice = options_.packets, .droppable = options_.loss}, "dlcp");
    note_transform(sent, "gradients in packets with a bounded loss");
    return sent;
  }
};

const bool kRegistered = add_plug_in<Transform, Dlcp>(
    {.name = "dlcp",
     .summary = "gradients in packets by layer, of which congested links drop the smallest values up to a bound",
     .source = "Wang et al., Domain-specific Communication Optimization for Distributed DNN Training, arXiv 2008.08445",
     .on_hardware =
         "a transport without retransmission and switches with priority queues; accuracy; gains only by more "
         "GPUs"});

}  // namespace
}  // namespace uvmsim
