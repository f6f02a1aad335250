// Times what planners ask for: the graph of an iteration, and the evaluation of a plan beside its simulation. Prints
// rows of the table in RESULTS.md; each is the least of several tries.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "engine/run.h"
#include "memory/allocator.h"
#include "plan/lower.h"
#include "study/child_process.h"
#include "study/planning.h"
#include "study/simulate.h"

namespace uvmsim {
namespace {

constexpr int kTries = 7;

template <class Work>
double milliseconds_of(Work&& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

template <class Measure>
double least_of(Measure&& measure) {
  double least = measure();
  for (int n = 1; n < kTries; ++n) least = std::min(least, measure());
  return least;
}

void row(const char* what, double milliseconds, const char* limit) {
  std::printf("| %s | %.1f ms | %s |\n", what, milliseconds, limit);
}

void graph_of_resnet1001(const std::string& folder) {
  const Experiment experiment = read_experiment(folder + "/v100_dgx1.json", {"machine.gpus=1"});
  const trace::Trace trace = make_trace(experiment);
  row("graph of an iteration of ResNet-1001, 25,716 kernels", least_of([&] {
        return milliseconds_of(
            [&] { IterationGraph(trace, DeviceOrdinal{0}, iterations_of(trace, DeviceOrdinal{0}).back()); });
      }),
      "50 ms");
}

// What the engine alone takes for `plans`, in a process of its own as evaluations are.
double simulation_of(const Experiment& experiment, const trace::Trace& trace, const std::vector<Plan>& plans) {
  ChildProcess child([&] {
    const trace::Trace device = as_explicit_memory(trace);
    const Program program = lower(
        place(device, {.allocator = "none", .memory = "device", .keep_tensors = true, .kind = nullptr}), device, plans);
    const Process process{&program, {GpuIndex{0}}, true};
    const double time = milliseconds_of([&] {
      run(experiment.machine, {&process, 1}, {.warmup = experiment.run.warmup, .progress = {}});
    });
    return std::to_string(time);
  });
  return std::stod(child.wait());
}

// Plans as `of` does, and prints what evaluating that takes.
class Evaluates final : public Planner {
 public:
  Evaluates(const Experiment& experiment, const trace::Trace& trace, std::shared_ptr<Planner> of)
      : experiment_(experiment), trace_(trace), of_(std::move(of)) {}

  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices& services) const override {
    std::vector<Plan> plans = of_->plan(gpus, services);
    const double simulation = least_of([&] { return simulation_of(experiment_, trace_, plans); });
    const double evaluation = least_of([&] { return milliseconds_of([&] { services.evaluate({&plans, 1}); }); });
    row("its simulation: swap_resnet50_v100, 512 kernels", simulation, "");
    row("evaluate() of that plan beside its simulation", evaluation - simulation, "30 ms");
    return plans;
  }

 private:
  const Experiment& experiment_;
  const trace::Trace& trace_;
  std::shared_ptr<Planner> of_;
};

void evaluation_of_a_plan(const std::string& folder) {
  Experiment experiment = read_experiment(folder + "/swap_resnet50_v100.json");
  const trace::Trace trace = make_trace(experiment);
  experiment.plan.parameters = std::make_shared<Evaluates>(experiment, trace, experiment.plan.parameters);
  make_plans(experiment, trace);
}

}  // namespace
}  // namespace uvmsim

int main(int, char** arguments) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // children inherit what is not yet written
  std::puts("| what planners ask for | wall | at most |\n| --- | --- | --- |");
  uvmsim::graph_of_resnet1001(arguments[1]);
  uvmsim::evaluation_of_a_plan(arguments[1]);
}
