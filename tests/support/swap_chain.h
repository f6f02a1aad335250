// A chain of layers that swaps activations on GPUs below one shared link, as in the toy model of the policies'
// specification (24 layers, uniform random times and sizes): forward k takes 3 to 12 ms and makes 60 to 400 MB,
// backward takes twice as long. Everything but kernels and the link costs nothing.
#pragma once

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "engine/run.h"
#include "report/json.h"
#include "study/child_process.h"
#include "support/under_plans.h"
#include "workload/trace_builder.h"

namespace uvmsim::testing_support {

inline constexpr int kLayers = 24;
inline constexpr std::array<double, kLayers> kForwardMs = {4.209, 10.627, 9.874,  5.296, 7.459, 7.045, 8.864,  10.099,
                                                           3.845, 3.255,  10.522, 6.895, 9.861, 3.019, 7.008,  9.494,
                                                           5.059, 11.507, 11.113, 3.275, 3.229, 7.873, 11.452, 6.431};
inline constexpr std::array<double, kLayers> kMegabytes = {
    133.64, 203.52, 69.87,  135.38, 208.88, 228.58, 139.25, 138.49, 134.39, 216.27, 158.53, 67.31,
    344.78, 249.19, 278.38, 123.21, 397.46, 352.38, 101.10, 173.12, 305.30, 301.81, 378.39, 203.52};
inline constexpr double kForwardSum = 177.311, kIdealMs = 3 * kForwardSum, kPeakMegabytes = 5042.74;

inline std::int64_t bytes_of(int layer) {
  return static_cast<std::int64_t>(kMegabytes[static_cast<std::size_t>(layer)] * 1e6) / 512 * 512;
}

// The GPUs meet after every `every` iterations; 0: never.
inline trace::Trace chain_trace(int iterations, int every) {
  TraceBuilder t({});
  std::vector<trace::TensorId> made;
  const auto duration = [](int layer, int times) {
    return trace::Kernel{.duration_ns =
                             static_cast<std::int64_t>(kForwardMs[static_cast<std::size_t>(layer)] * 1e6 * times)};
  };
  for (int i = 0; i < iterations; ++i) {
    made.clear();
    t.iteration(i);
    t.phase("forward");
    for (int l = 0; l < kLayers; ++l) {
      made.push_back(t.allocate(Bytes{bytes_of(l)}, TensorKind::Activation));
      std::vector<trace::Access> operands = {writes(made.back())};
      if (l > 0) operands.push_back(reads(made[static_cast<std::size_t>(l) - 1]));
      t.kernel("forward", duration(l, 1), operands);
    }
    t.phase("backward");
    for (int l = kLayers; l-- > 0;) {
      std::vector<trace::Access> operands = {reads(made[static_cast<std::size_t>(l)])};
      if (l > 0) operands.push_back(reads(made[static_cast<std::size_t>(l) - 1]));
      t.kernel("backward", duration(l, 2), operands);
      t.free(made[static_cast<std::size_t>(l)]);
    }
    if (every > 0 && (i + 1) % every == 0) t.collective({.kind = trace::Collective::AllReduce, .bytes = 0}, {});
  }
  return t.take();
}

// `gpus` below one switch, whose uplink carries `rate` each way; the link's `efficiency` as LinkSpec.
inline Machine one_switch(int gpus, double memory_megabytes, double gigabytes_per_s,
                          std::vector<double> efficiency = {}) {
  Machine m;
  m.gpus.resize(static_cast<std::size_t>(gpus));
  m.host.memory = Bytes{std::int64_t{1} << 40};
  for (GpuSpec& gpu : m.gpus) gpu.usable_memory = Bytes{static_cast<std::int64_t>(memory_megabytes * 1e6)};
  const auto hop = [&](const std::string& name, const std::string& from, const std::string& to, double rate) {
    LinkSpec link;
    link.name = name;
    link.kind = "pcie";
    link.from = from;
    link.to = to;
    link.down = link.up = BytesPerSecond{static_cast<std::int64_t>(rate * 1e9)};
    m.links.push_back(link);
  };
  hop("memory", "memory0", "socket0", 1000);
  hop("uplink", "socket0", "switch0", gigabytes_per_s);
  m.links.back().sharing_efficiency = std::move(efficiency);
  for (int g = 0; g < gpus; ++g) hop("pcie" + std::to_string(g), "switch0", "gpu" + std::to_string(g), gigabytes_per_s);
  return m;
}

// The activation of layer l is used by forward l and l + 1, then by backward l + 1: swapped in between.
inline Move swap_of(int layer) {
  return {.of = {layer, layer + 1, 2 * kLayers - 2 - layer, bytes_of(layer)},
          .out = {{Trigger::On::AfterKernel, layer + 1}, Sync::Stream},
          .in = {{Trigger::On::AfterKernel, kLayers - 1}, Sync::Stream}};
}

// Swaps layers in `order` until the iteration fits into `budget` megabytes; copies in follow the backward pass.
inline Plan chain_plan(int gpu, double budget, const std::vector<int>& order) {
  std::set<int> chosen;
  const auto fits = [&] {
    for (int k = 0; k < 2 * kLayers; ++k) {
      double load = 0;
      for (int l = 0; l < kLayers; ++l)
        if (l <= k && k <= 2 * kLayers - 1 - l && !(chosen.contains(l) && l + 1 < k && k < 2 * kLayers - 2 - l))
          load += kMegabytes[static_cast<std::size_t>(l)];
      if (load > budget) return false;
    }
    return true;
  };
  for (const int l : order) {
    if (fits()) break;
    chosen.insert(l);
  }
  Plan plan{.gpu = GpuIndex{gpu}, .iteration = {.kernels = 2 * kLayers, .held = 0, .made = kLayers}};
  // Copies in are issued in the order of their use: the last layer first.
  for (const int l : chosen) plan.actions.push_back(swap_of(l));
  std::ranges::sort(plan.actions, {}, [](const Action& a) { return std::get<Move>(a).of.next_use; });
  return plan;
}

// Layers by falling reuse distance: as they come. `first`, `step`: those that a GPU is dealt come before the others.
inline std::vector<int> dealt(int first, int step) {
  std::vector<int> own, others;
  for (int l = 0; l + 2 < kLayers; ++l) (l % step == first ? own : others).push_back(l);
  own.insert(own.end(), others.begin(), others.end());
  return own;
}

// A replica on each GPU of `machine`, in a process of its own; `plans`: at most one for each.
inline Result run_chain(const Machine& machine, const std::vector<Plan>& plans, const Coordinator::Factory* coordinator,
                        int every, int iterations = 16) {
  ChildProcess child([&] {
    const trace::Trace trace = chain_trace(iterations, every);
    std::vector<std::unique_ptr<Program>> programs;
    std::vector<Process> processes;
    for (const GpuIndex g : machine.gpus.indices()) {
      std::vector<Plan> own;
      std::ranges::copy_if(plans, std::back_inserter(own), [g](const Plan& p) { return p.gpu == g; });
      for (Plan& plan : own) plan.gpu = {};
      programs.push_back(std::make_unique<Program>(under_plans(trace, own)));
      processes.push_back({programs.back().get(), {g}, true});
    }
    return to_json(run(machine, processes, {.warmup = iterations / 2, .progress = {}, .coordinator = coordinator}));
  });
  return result_from_json(child.wait()).value();
}

}  // namespace uvmsim::testing_support
