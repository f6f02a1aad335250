#include "uvm/gate/prefetch_gate.h"

namespace uvmsim {
namespace {

// Knows at each moment what is missing. An upper bound: CUDA has no such question, and the answer would be old by the
// time the stream comes to the call.
class Oracle final : public PrefetchGate {
 public:
  bool calls(std::int64_t) override { return true; }
  bool executes(std::int64_t, bool missing) override { return missing; }
  bool foresees() const override { return true; }
  void kernel_done(std::int64_t, std::int64_t) override {}
};

const bool kRegistered =
    add_plug_in<PrefetchGate, Oracle>({.name = "oracle",
                                       .summary = "prefetch only what is not completely resident; asking costs nothing",
                                       .source = "an upper bound on prefetching only when needed"});

}  // namespace
}  // namespace uvmsim
