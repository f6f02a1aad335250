#include "uvm/eviction/eviction_policy.h"

namespace uvmsim {
namespace {

struct ScratchOptions {
  double share = 0.5;

  static const Description& description() {
    static const Description d =
        Describe<ScratchOptions>("an example").number("share", &ScratchOptions::share, "of something", {0, 1}).build();
    return d;
  }
};

class Scratch final : public EvictionPolicy {
 public:
  using Options = ScratchOptions;
  explicit Scratch(const ScratchOptions& options) : options_(options) {}
  RootChunkIndex victim(const EvictionView& view) override { return driver_victim(view); }
  bool wants_free(const EvictionView&) override { return options_.share > 1; }

 private:
  const ScratchOptions options_;
};

const bool kRegistered = add_plug_in<EvictionPolicy, Scratch>(
    {.name = "scratch", .summary = "an example", .source = "a test", .on_hardware = "nothing"});

}  // namespace
}  // namespace uvmsim
