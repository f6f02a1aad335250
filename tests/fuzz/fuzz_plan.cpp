// Any bytes as plans of a small network: refused with errors, or a program that runs to the end under them.
#include <cstdint>
#include <string>
#include <string_view>

#include "in_child.h"
#include "plan/plan_json.h"
#include "study/plan_program.h"
#include "study/planned_run.h"
#include "study/planning.h"
#include "study/simulate.h"

namespace {

using namespace uvmsim;

// corpus/plan has what its planners make of it.
const std::string kConfig = R"({
  "machine": {"extends": "machines/v100_pcie_16gb.json", "gpu": {"memory": "20 MiB", "usable_memory": "20 MiB"}},
  "driver": {"version": "418.40"},
  "workload": {"generator": "resnet_cifar", "depth": 8, "batch": 32, "memory": "device"},
  "run": {"warmup": 1, "iterations": 1}})";

Experiment experiment() {
  const std::string path = std::string(UVMSIM_SOURCE_DIR) + "/configs/fuzzed.json";
  return read_experiment(path, {}, [&](const std::string& file) { return bundled_or(file, path, kConfig); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Experiment of = experiment();
  static const trace::Trace trace = make_trace(of);
  try {
    const PlanFile file = read_plans({reinterpret_cast<const char*>(data), size}, "input");
    run_in_child([&] {
      check_plans(of, trace, file.plans);
      run_planned(of, planned_program(of, trace, file.plans), file.plans, {.progress = {}});
    });
  } catch (const UserError&) {
    // Most bytes are no plan; what matters is that they are refused in order.
  }
  return 0;
}
