// What vDNN and vDNN++ have in common: which feature maps go to the host, and in which layer of the backward pass each
// comes back.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "plan/feature_maps.h"

namespace uvmsim {

struct VdnnRules {
  std::string which = "all";                   // none, conv, alternate_conv or all
  std::string window = "nearest_convolution";  // how far ahead a layer looks: or unlimited, or distance
  int distance = 1;                            // layers, of that window
  int in_flight = 1;                           // layers whose feature maps one layer fetches
  Sync out = Sync::Layer, in = Sync::Layer;
  Bytes least{};  // smaller feature maps stay
  // How kernels with launch variants run: as they are "recorded", each the fastest way ("performance"), the way with
  // the least workspace ("memory"), or the fastest whose workspace fits next to what is there ("greedy").
  std::string algorithms = "recorded";
};

// The feature maps that `rules` swap: inputs, at their last readers in the forward pass, of convolutions ("conv"), of
// every second one ("alternate_conv"), or of all layers but fully connected ones and the loss ("all").
std::vector<std::size_t> vdnn_feature_maps(const Profile& profile, const VdnnRules& rules);

// Moves them. The copy out runs while the last reader does. Each layer of the backward pass fetches what the next one
// within the window needs that was not fetched yet; what none fetches comes on demand.
Plan vdnn_plan(const Profile& profile, const VdnnRules& rules, const std::string& planner);

// Of the plans for `choices`, the first that is feasible; the last one when none is.
template <class PlanOf>
Plan first_that_fits(std::initializer_list<const char*> choices, PlanOf plan_of) {
  Plan plan;
  for (const char* choice : choices) {
    plan = plan_of(choice);
    if (plan.feasible) break;
  }
  return plan;
}

}  // namespace uvmsim
