#include "study/setup.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/field_text.h"
#include "study/known_operands.h"

namespace uvmsim {
namespace {

// "batch=98" of each plain parameter that has a value, as behind --set workload.
std::vector<std::string> parameters_of(const WorkloadConfig& workload) {
  std::vector<std::string> parameters;
  if (!workload.parameters) return parameters;
  const auto [description, object] = workload.parameters->parameters();
  for (const FieldInfo& field : description->fields) {
    if (field.kind == FieldInfo::Kind::Section || field.kind == FieldInfo::Kind::SectionList) continue;
    const nlohmann::json value = nlohmann::json::parse(value_json(field, object));
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    if (!text.empty()) parameters.push_back(field.name + "=" + text);
  }
  return parameters;
}

}  // namespace

Setup setup_of(const Experiment& experiment, const trace::Trace& trace) {
  const GpuSpec& gpu = std::ranges::min(experiment.machine.gpus, {}, &GpuSpec::usable_memory);
  const WorkloadConfig& workload = experiment.workload;
  return {.machine = experiment.machine.name,
          .gpus = static_cast<int>(experiment.machine.gpus.size()),
          .gpu = gpu.name,
          .gpu_memory_bytes = gpu.memory.value,
          .usable_memory_bytes = gpu.usable_memory.value,
          .workload = workload.generator.empty() ? workload.trace : workload.generator,
          .parameters = parameters_of(workload),
          .allocator = workload.placement.allocator,
          .memory = workload.placement.memory,
          .overrides = experiment.overrides,
          .operands = known_operands(trace, gpu.name)};
}

}  // namespace uvmsim
