#include "plan/planners/vdnn.h"

namespace uvmsim {
namespace {

struct VdnnPpOptions {
  std::string offload = "auto";
  std::string window = "nearest_convolution";
  int distance = 1;
  int in_flight = 1;
  Bytes min_bytes{};

  static const Description& description() {
    using O = VdnnPpOptions;
    static const Description d =
        Describe<O>("vDNN without its joins")
            .text("offload", &O::offload,
                  "inputs of every second convolution, of all convolutions, of all layers, none, or the first of none, "
                  "alternate_conv, conv and all that fits",
                  {"none", "alternate_conv", "conv", "all", "auto"})
            .text("window", &O::window, "as of vdnn", {"nearest_convolution", "unlimited", "distance"})
            .integer("distance", &O::distance, "layers ahead in the window `distance`", {1, 1'000'000}, "layers")
            .integer("in_flight", &O::in_flight, "layers whose feature maps one layer fetches", {1, 1'000'000},
                     "layers")
            .bytes("min_bytes", &O::min_bytes, "smaller feature maps stay")
            .build();
    return d;
  }
};

// vDNN without the join at the end of each layer: an allocation waits until copies out have freed enough, and a layer
// waits for its own feature maps alone. The paper compresses what arrived in host memory: plan.codec "zvc_cpu". It
// places what is offloaded and what stays from two ends of the pool: plan.device_memory "placed" with
// workload.allocator "two_ended".
//
// On hardware: as vDNN, with threads that release memory when copies end, and CPU cores for the codec.
class VdnnPp final : public With<Planner, VdnnPpOptions> {
 public:
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices&) const override {
    return plan_each(gpus, [&](const Profile& profile) { return plan_of(profile); });
  }

 private:
  Plan plan_of(const Profile& profile) const {
    if (options_.offload != "auto") return plan_of(profile, options_.offload);
    return first_that_fits({"none", "alternate_conv", "conv", "all"},
                           [&](const char* offload) { return plan_of(profile, offload); });
  }

  Plan plan_of(const Profile& profile, const std::string& offload) const {
    return vdnn_plan(profile,
                     {.which = offload,
                      .window = options_.window,
                      .distance = options_.distance,
                      .in_flight = options_.in_flight,
                      .out = Sync::Alloc,
                      .in = Sync::Stream,
                      .least = options_.min_bytes},
                     "vdnn_pp");
  }
};

const bool kRegistered = add_plug_in<Planner, VdnnPp>(
    {.name = "vdnn_pp",
     .summary = "vDNN without joins: allocations wait for copies out, kernels for their own operands",
     .source = "Shriram et al., IPDPS 2019: Dynamic Memory Management for GPU-based Training of Deep Neural Networks; "
               "shriramsb/vdnn-plus-plus",
     .on_hardware = "as vdnn, with host threads that release memory as copies end"});

}  // namespace
}  // namespace uvmsim
