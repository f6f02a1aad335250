#include "plan/planners/checkmate_search.h"

namespace uvmsim {
namespace {

// Checkmate's program with paging: a result of the forward pass that leaves the GPU either is made again or comes back
// from host memory, where it is copied once. The objective is time, that of kernels which run again and of waiting for
// copies; the paper's is energy under a limit of time, which needs the joules of each kernel. Copies are a flow of
// bytes at the link's rate during the kernels, out from when a result is made, in from the stage before as memory
// allows.
//
// On hardware: a framework whose graph of operators can be rewritten before it runs, and pinned host memory.
class Poet final : public With<Planner, CheckmateOptions> {
 public:
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices& services) const override {
    return checkmate_plans(gpus, options_, "poet", true, services);
  }
};

const bool kRegistered = add_plug_in<Planner, Poet>(
    {.name = "poet",
     .summary =
         "an integer program chooses which results of the forward pass stay, are recomputed, or go to host memory",
     .source = "Patil et al., POET: Training Neural Networks on Tiny Devices with Integrated Rematerialization and "
               "Paging, ICML 2022, section 4, without its energy; solved by CBC",
     .on_hardware = "a framework whose graph of operators can be rewritten before it runs, and pinned host memory"});

}  // namespace
}  // namespace uvmsim
