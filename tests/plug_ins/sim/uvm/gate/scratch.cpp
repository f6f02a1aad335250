#include "uvm/gate/prefetch_gate.h"

namespace uvmsim {
namespace {

// Every other kernel.
class Scratch final : public PrefetchGate {
 public:
  bool calls(std::int64_t kernel) override { return kernel % 2 == 0; }
  bool executes(std::int64_t, bool) override { return true; }
  void kernel_done(std::int64_t, std::int64_t) override {}
};

const bool kRegistered =
    add_plug_in<PrefetchGate, Scratch>({.name = "scratch", .summary = "an example", .source = "a test"});

}  // namespace
}  // namespace uvmsim
