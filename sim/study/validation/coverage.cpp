#include "study/validation/coverage.h"

#include <algorithm>
#include <functional>

#include "base/number_text.h"
#include "machine/machine.h"

namespace uvmsim {
namespace {

// Memory beyond what was validated by less than this counts as the same.
constexpr double kMemorySlack = 1.1;

std::string memory_text(double share) { return number_text(share) + " times the GPU's memory"; }

std::string range_text(const RunTraits& run) {
  return run.least_memory == run.most_memory ? memory_text(run.most_memory)
                                             : number_text(run.least_memory) + " to " + memory_text(run.most_memory);
}

bool memory_within(const RunTraits& run, const RunTraits& known) {
  return run.most_memory <= known.most_memory * kMemorySlack && run.least_memory * kMemorySlack >= known.least_memory;
}

int major_version(const std::string& driver) { return driver_traits(driver).major; }

// One way in which runs differ, and what it weighs. The weights order families; they are no measure of error.
struct Difference {
  int weight;
  std::function<bool(const RunTraits& run, const RunTraits& known)> same;
  std::function<std::string(const RunTraits& known)> text;  // what the known run has
};

const std::vector<Difference>& differences() {
  static const std::vector<Difference> list = {
      {64, [](const RunTraits& run, const RunTraits& known) { return run.managed == known.managed; },
       [](const RunTraits& known) { return known.managed ? "managed memory" : "device memory"; }},
      {32, [](const RunTraits& run, const RunTraits& known) { return run.oversubscribed() == known.oversubscribed(); },
       [](const RunTraits& known) { return range_text(known); }},
      {16, [](const RunTraits& run, const RunTraits& known) { return run.sort == known.sort; },
       [](const RunTraits& known) { return known.workload + " (" + known.sort + ")"; }},
      {8, [](const RunTraits& run, const RunTraits& known) { return run.architecture == known.architecture; },
       [](const RunTraits& known) { return known.gpu + " (" + known.architecture + ")"; }},
      {4, [](const RunTraits& run, const RunTraits& known) { return run.gpu == known.gpu; },
       [](const RunTraits& known) { return known.gpu; }},
      {4, [](const RunTraits& run, const RunTraits& known) { return run.workload == known.workload; },
       [](const RunTraits& known) { return known.workload; }},
      {2, memory_within, [](const RunTraits& known) { return range_text(known); }},
      {2, [](const RunTraits& run, const RunTraits& known) { return run.gpus == known.gpus; },
       [](const RunTraits& known) { return std::to_string(known.gpus) + (known.gpus == 1 ? " GPU" : " GPUs"); }},
      {1,
       [](const RunTraits& run, const RunTraits& known) {
         return major_version(run.driver) == major_version(known.driver);
       },
       [](const RunTraits& known) { return "driver " + known.driver; }},
  };
  return list;
}

int distance(const RunTraits& run, const RunTraits& known) {
  int sum = 0;
  for (const Difference& difference : differences())
    if (!difference.same(run, known)) sum += difference.weight;
  return sum;
}

std::vector<std::string> difference_texts(const RunTraits& run, const RunTraits& known) {
  std::vector<std::string> texts;
  for (const Difference& difference : differences()) {
    if (difference.same(run, known)) continue;
    std::string text = difference.text(known);
    // "GTX 1080 Ti (pascal)" says that it is a GTX 1080 Ti.
    const auto says = [&](const std::string& other) { return other == text || other.starts_with(text + " ("); };
    if (std::ranges::none_of(texts, says)) texts.push_back(std::move(text));
  }
  return texts;
}

bool any_run(const std::vector<FamilyErrors>& families, const std::function<bool(const RunTraits&)>& is) {
  return std::ranges::any_of(families, [&](const FamilyErrors& f) { return std::ranges::any_of(f.runs, is); });
}

std::vector<std::string> warnings_of(const RunTraits& run, const std::vector<FamilyErrors>& families) {
  std::vector<std::string> warnings;
  if (!any_run(families, [&](const RunTraits& known) { return known.gpu == run.gpu; }))
    warnings.push_back("this GPU, " + run.gpu);
  const int major = major_version(run.driver);
  if (!any_run(families, [&](const RunTraits& known) { return major_version(known.driver) == major; }))
    warnings.push_back("driver " + run.driver);
  if (!any_run(families, [&](const RunTraits& known) { return known.sort == run.sort; }))
    warnings.push_back(run.sort.empty() ? "a workload of this shape (a trace that no generator made)"
                                        : "a workload of this shape (" + run.sort + ")");
  double most = 0;
  for (const FamilyErrors& family : families)
    for (const RunTraits& known : family.runs)
      if (known.sort == run.sort && known.managed == run.managed) most = std::max(most, known.most_memory);
  if (run.oversubscribed() && run.most_memory > most * kMemorySlack)
    warnings.push_back(memory_text(run.most_memory) +
                       (most > 0 ? "; for this shape of workload at most " + number_text(most) + " times" : ""));
  if (!any_run(families, [&](const RunTraits& known) { return known.gpus >= run.gpus; }))
    warnings.push_back(std::to_string(run.gpus) + " GPUs");
  return warnings;
}

}  // namespace

RunTraits traits_of(const Experiment& experiment, std::string_view workload, std::size_t gpus,
                    std::int64_t reserved_bytes) {
  constexpr std::string_view kOurs = "uvmsim ";
  if (workload.starts_with(kOurs)) workload.remove_prefix(kOurs.size());
  const GpuSpec& gpu = experiment.machine.gpus.front();
  const auto* made_by = generators().find(std::string(workload));
  const double share = static_cast<double>(reserved_bytes) / static_cast<double>(gpu.usable_memory.value);
  return {.gpu = gpu.name,
          .architecture = gpu.architecture,
          .driver = experiment.machine.driver.version,
          .workload = std::string(workload),
          .sort = made_by == nullptr ? "" : std::string(made_by->make()->sort()),
          .managed = experiment.workload.placement.memory == "managed",
          .gpus = static_cast<int>(gpus),
          .least_memory = share,
          .most_memory = share};
}

Trust trust_in(const RunTraits& run, const std::vector<FamilyErrors>& families) {
  const FamilyErrors* nearest_family = nullptr;
  const RunTraits* nearest_run = nullptr;
  int nearest_distance = 0;
  for (const FamilyErrors& family : families)
    for (const RunTraits& known : family.runs) {
      const int d = distance(run, known);
      const bool closer = nearest_run == nullptr || d < nearest_distance ||
                          (d == nearest_distance && family.values > nearest_family->values);
      if (!closer) continue;
      nearest_family = &family;
      nearest_run = &known;
      nearest_distance = d;
    }
  return {.family = nearest_family->family,
          .title = nearest_family->title,
          .values = nearest_family->values,
          .median_error = nearest_family->median_error,
          .worst_error = nearest_family->worst_error,
          .bias = nearest_family->bias,
          .differences = difference_texts(run, *nearest_run),
          .warnings = warnings_of(run, families)};
}

}  // namespace uvmsim
