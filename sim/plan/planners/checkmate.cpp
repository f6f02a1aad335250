#include "plan/planners/checkmate_search.h"

namespace uvmsim {
namespace {

// On hardware: a framework whose graph of operators can be rewritten before it runs (the paper's TensorFlow 2).
class Checkmate final : public With<Planner, CheckmateOptions> {
 public:
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices& services) const override {
    return checkmate_plans(gpus, options_, "checkmate", false, services);
  }
};

const bool kRegistered = add_plug_in<Planner, Checkmate>(
    {.name = "checkmate",
     .summary = "an integer program chooses which results of the forward pass stay and which are recomputed, and when",
     .source = "Jain et al., Checkmate: Breaking the Memory Wall with Optimal Tensor Rematerialization, MLSys 2020, "
               "sections 4 and 5; parasj/checkmate; solved by CBC",
     .on_hardware = "a framework whose graph of operators can be rewritten before it runs"});

}  // namespace
}  // namespace uvmsim
