#include <sstream>

#include "uvm/eviction/eviction_policy.h"

namespace uvmsim {
namespace {

struct KindsOptions {
  std::string kinds = "act";
  static const Description& description() {
    static const Description d =
        Describe<KindsOptions>("kinds: which tensors may go")
            .text("kinds", &KindsOptions::kinds,
                  "kinds of tensors, separated by commas, that are evicted before all others: act, grad, param, "
                  "wgrad, opt, input, ws, other, or what the trace calls them")
            .build();
    return d;
  }
};

// The driver's order among the chunks that hold tensors of these kinds only: weights, gradients and optimizer state
// stay while there is an activation. A chunk that two kinds share does not qualify.
class Kinds final : public EvictionPolicy {
 public:
  using Options = KindsOptions;
  explicit Kinds(const KindsOptions& options) {
    std::istringstream list(options.kinds);
    for (std::string kind; std::getline(list, kind, ',');)
      if (const std::size_t first = kind.find_first_not_of(' '); first != std::string::npos)
        kinds_.push_back(kind.substr(first, kind.find_last_not_of(' ') + 1 - first));
  }
  EvictionNeeds needs() const override { return {.tensors = true}; }
  RootChunkIndex victim(const EvictionView& view) override {
    return first_in_driver_order(view, [&](RootChunkIndex chunk) { return view.holds_only(chunk, kinds_); });
  }

 private:
  std::vector<std::string> kinds_;
};

const bool kRegistered = add_plug_in<EvictionPolicy, Kinds>(
    {.name = "kinds",
     .summary = "the driver's order among chunks of some kinds of tensors, by default activations",
     .source = "Sakharnykh et al., GTC 2019, \"smart evictions: activations only\"",
     .on_hardware = "another nvidia-uvm, and a framework that says what its memory holds"});

}  // namespace
}  // namespace uvmsim
