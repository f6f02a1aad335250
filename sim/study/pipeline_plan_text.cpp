#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/number_text.h"
#include "report/table.h"
#include "study/pipeline_plan.h"

namespace uvmsim {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kBriefRows = 10;

std::vector<std::string> row(const PipelineChoice& choice) {
  return {name_of(choice.kind) + (choice.recompute ? " + recompute" : ""),
          std::to_string(choice.width),
          std::to_string(choice.depth),
          std::to_string(choice.micro_batches),
          seconds_text(choice.batch),
          number_text(choice.samples_per_s),
          percent_text(choice.bubble),
          bytes_text(choice.memory),
          choice.fits ? "yes" : "no"};
}

// The first of each kind with and without recomputation, in their order.
std::vector<const PipelineChoice*> best_of_kinds(const PipelinePlan& plan) {
  std::vector<const PipelineChoice*> best;
  for (const PipelineChoice& choice : plan.choices)
    if (std::ranges::none_of(best, [&](const PipelineChoice* of) {
          return of->kind == choice.kind && of->recompute == choice.recompute;
        }))
      best.push_back(&choice);
  return best;
}

// How to simulate the first of them that has stages; "": none has.
std::string how_to_run(const PipelinePlan& plan) {
  const auto best = std::ranges::find_if(plan.choices, [](const PipelineChoice& of) { return of.depth > 1; });
  if (best == plan.choices.end()) return "";
  Json transform = {{"name", "pipeline"},
                    {"stages", best->depth},
                    {"width", best->width},
                    {"micro_batches", best->micro_batches},
                    {"schedule", name_of(best->kind)}};
  if (best->recompute) transform["recompute"] = true;
  return "\nTo simulate the best with stages, kernel by kernel: the same of uvmsim run, and --set run.warmup=3\n"
         "  --set 'workload.transforms=[" +
         transform.dump() + "]'\n";
}

}  // namespace

std::string to_text(const PipelinePlan& plan) {
  const std::vector<std::string> head = {
      "", "width", "depth", "micro-batches", "batch", plan.sample_unit + "/s", "waiting", "memory", "fits"};
  std::string text = plan.experiment + "\n";
  if (!plan.description.empty()) text += "  " + plan.description + "\n";
  for (const std::string& setting : plan.settings) text += "  with " + setting + "\n";
  text += "  " + std::to_string(plan.layers) + " layers, " + bytes_text(plan.weights) + " of weights, on " +
          std::to_string(plan.gpus) + " GPUs of " + bytes_text(plan.usable_memory.value) + "; a batch is " +
          std::to_string(plan.batch) + " samples in micro-batches of " + std::to_string(plan.micro_batch) + "\n";
  std::vector<std::vector<std::string>> rows = {head};
  for (std::size_t i = 0; i < std::min(kBriefRows, plan.choices.size()); ++i) rows.push_back(row(plan.choices[i]));
  text += "\nThe best\n" + aligned(rows);
  rows = {head};
  for (const PipelineChoice* choice : best_of_kinds(plan)) rows.push_back(row(*choice));
  return text + "\nThe best of each schedule\n" + aligned(rows) +
         "\nLinks are taken as if nobody else used them, and launches as if they took no time; workspaces and "
         "gradients of "
         "activations\nare not counted.\n" +
         how_to_run(plan);
}

std::string to_json(const PipelinePlan& plan) {
  Json object = {{"experiment", plan.experiment},
                 {"description", plan.description},
                 {"settings", plan.settings},
                 {"sample_unit", plan.sample_unit},
                 {"gpus", plan.gpus},
                 {"batch", plan.batch},
                 {"micro_batch", plan.micro_batch},
                 {"layers", plan.layers},
                 {"weights_bytes", plan.weights},
                 {"usable_memory_bytes", plan.usable_memory.value},
                 {"choices", Json::array()}};
  for (const PipelineChoice& choice : plan.choices)
    object["choices"].push_back({{"schedule", name_of(choice.kind)},
                                 {"recompute", choice.recompute},
                                 {"width", choice.width},
                                 {"depth", choice.depth},
                                 {"micro_batches", choice.micro_batches},
                                 {"batch_s", seconds(choice.batch)},
                                 {"samples_per_s", choice.samples_per_s},
                                 {"waiting_share", choice.bubble},
                                 {"memory_bytes", choice.memory},
                                 {"fullest_stage", choice.fullest},
                                 {"fits", choice.fits}});
  return object.dump(2) + "\n";
}

}  // namespace uvmsim
