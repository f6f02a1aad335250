#include <vector>

#include "uvm/gate/prefetch_gate.h"

namespace uvmsim {
namespace {

// Learns from the iteration before: where the prefetches before a kernel found nothing missing, they are left out until
// that kernel faults again. Starts with prefetching everywhere.
class Adaptive final : public PrefetchGate {
 public:
  bool calls(std::int64_t kernel) override {
    State& state = at(kernel);
    if (!state.decided) {
      state.decided = true;
      state.wanted = state.needed;
      state.needed = false;
    }
    return state.wanted;
  }
  bool executes(std::int64_t kernel, bool missing) override {
    at(kernel).needed |= missing;
    return true;
  }
  void kernel_done(std::int64_t kernel, std::int64_t fault_batches) override {
    State& state = at(kernel);
    state.needed |= fault_batches > 0;
    state.decided = false;
  }

 private:
  struct State {
    bool needed = true;    // by what was seen since the last decision
    bool wanted = true;    // as decided for the iteration under way
    bool decided = false;  // one decision for all prefetches before a kernel
  };
  State& at(std::int64_t kernel) {
    if (states_.size() <= static_cast<std::size_t>(kernel)) states_.resize(static_cast<std::size_t>(kernel) + 1);
    return states_[static_cast<std::size_t>(kernel)];
  }
  std::vector<State> states_;
};

const bool kRegistered = add_plug_in<PrefetchGate, Adaptive>(
    {.name = "adaptive",
     .summary = "prefetch before kernels that needed it an iteration ago",
     .source = "Sakharnykh et al., GTC 2019: prefetch only when needed (the rule is ours)"});

}  // namespace
}  // namespace uvmsim
