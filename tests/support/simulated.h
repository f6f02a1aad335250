// Runs an experiment given as JSON text, in a process of its own: the engine allows one simulation per process.
#pragma once

#include <gtest/gtest.h>
#include <numeric>
#include <string>
#include <vector>

#include "engine/run.h"
#include "report/json.h"
#include "study/child_process.h"
#include "study/experiment.h"
#include "study/simulate.h"

namespace uvmsim::testing_support {

// `config` may extend "machines/..." as a file in configs/ does.
inline Experiment experiment_of(const std::string& config, const std::vector<std::string>& settings = {}) {
  const std::string path = std::string(UVMSIM_SOURCE_DIR) + "/configs/test.json";
  return read_experiment(path, settings, [&](const std::string& file) {
    return file == path ? std::optional(config) : read_text_file(file);
  });
}

// Device n is GPU n, for all of the machine's.
inline IndexedVector<DeviceOrdinal, GpuIndex> all_gpus(const Machine& machine) {
  IndexedVector<DeviceOrdinal, GpuIndex> gpus(machine.gpus.size());
  std::iota(gpus.begin(), gpus.end(), GpuIndex{});
  return gpus;
}

// The result of the main run alone, without its in-core reference.
inline Result simulated(const std::string& config, const std::vector<std::string>& settings = {},
                        RunOptions options = {}) {
  ChildProcess child([&] {
    const Experiment e = experiment_of(config, settings);
    const trace::Trace trace = make_trace(e);
    const Program program = place(trace, e.workload.placement);
    std::vector<Process> processes;
    if (e.workload.data_parallel) {
      for (const GpuIndex g : e.machine.gpus.indices()) processes.push_back({&program, {g}});
    } else {
      processes.push_back({&program, all_gpus(e.machine)});
    }
    options.warmup = e.run.warmup;
    options.audit = true;
    options.process_stagger = e.run.process_stagger;
    return to_json(run(e.machine, processes, options));
  });
  const auto result = result_from_json(child.wait());
  EXPECT_TRUE(result.has_value());
  return result.value_or(Result{});
}

// A micro workload over managed memory as its framework-free program allocates it; counts of the whole process.
inline std::string micro(const std::string& machine, const std::string& workload,
                         const std::string& driver = R"("version": "418.40")") {
  return R"({"machine": {"extends": "machines/)" + machine + R"(.json"}, "driver": {)" + driver +
         R"(}, "workload": {"allocator": "none", "memory": "managed", )" + workload +
         R"(}, "run": {"warmup": 0, "iterations": 1}})";
}

// A bundled machine with keys set, for programs made by hand.
inline Machine machine_of(const std::string& name, const std::vector<std::string>& settings = {},
                          const std::string& driver = R"("version": "595.45.04")") {
  return experiment_of(micro(name, R"("generator": "first_touch")", driver), settings).machine;
}

// One process on all GPUs of a machine, without warm-up. For use in a child process.
inline std::string run_to_json(const Machine& machine, const Program& program, Observer* observer = nullptr) {
  const Process process{&program, all_gpus(machine)};
  RunOptions options;
  options.warmup = 0;
  options.audit = true;
  options.observer = observer;
  return to_json(run(machine, {&process, 1}, options));
}

inline Result result_of(const Machine& machine, const Program& program) {
  ChildProcess child([&] { return run_to_json(machine, program); });
  const auto result = result_from_json(child.wait());
  EXPECT_TRUE(result.has_value());
  return result.value_or(Result{});
}

}  // namespace uvmsim::testing_support
