#include "plan/pipeline_stages.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/user_error.h"

namespace uvmsim {
namespace {

// Counts the blocks of a graph.
class Blocks {
 public:
  explicit Blocks(const IterationGraph& graph) : graph_(graph), backward_(graph.first_kernel_of("backward")) {
    const std::int32_t forward = graph.first_kernel_of("forward");
    if (forward < 0 || backward_ < forward) refuse("expected the phases forward and backward, in this order");
    for (std::int32_t k = 0; std::cmp_less(k, graph.kernels.size()); ++k) place(k, k >= forward && k < backward_);
    if (model_.blocks.size() < 2) refuse("its layers are not marked");
    model_.blocks.front().step += before_;
    for (std::int32_t t = 0; std::cmp_less(t, graph.tensors.size()); ++t) count(t);
  }
  PipelineModel take() { return std::move(model_); }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw UserError(graph_.workload, {{"/workload", "it cannot be cut into stages: " + why}});
  }

  std::string_view layer_of(std::int32_t kernel) const {
    const std::int32_t layer = graph_.kernels[static_cast<std::size_t>(kernel)].layer;
    return layer < 0 ? std::string_view() : graph_.strings[static_cast<std::size_t>(layer)];
  }
  bool in_phase(std::int32_t kernel, std::string_view name) const {
    const std::int32_t phase = graph_.kernels[static_cast<std::size_t>(kernel)].phase;
    return phase >= 0 && graph_.phases[static_cast<std::size_t>(phase)] == name;
  }

  // The kernels come in order.
  void place(std::int32_t kernel, bool forward) {
    std::vector<PipelineBlocks>& blocks = model_.blocks;
    const std::string_view layer = layer_of(kernel);
    if (forward && !layer.empty() && (blocks.empty() || blocks.back().layer != layer))
      blocks.push_back({.layer = std::string(layer)});
    const Duration duration = graph_.kernels[static_cast<std::size_t>(kernel)].duration;
    if (blocks.empty()) {
      block_of_.push_back(0);
      before_ += duration;
      return;
    }
    if (kernel < backward_) {
      block_of_.push_back(blocks.size() - 1);
      blocks.back().forward += duration;
      return;
    }
    const bool step = in_phase(kernel, "optimizer");
    const std::size_t from = step ? blocks.size() - 1 : std::min(block_of_.back(), blocks.size() - 1);
    block_of_.push_back(last_of(layer, from).value_or(step ? block_of_operands(kernel) : from));
    (step ? blocks[block_of_.back()].step : blocks[block_of_.back()].backward) += duration;
  }

  std::optional<std::size_t> last_of(std::string_view layer, std::size_t from) const {
    for (std::size_t b = from + 1; b-- > 0;)
      if (model_.blocks[b].layer == layer) return b;
    return std::nullopt;
  }

  // Of the first operand that an earlier kernel used; without any, as the kernel before.
  std::size_t block_of_operands(std::int32_t kernel) const {
    for (const TensorUse& use : graph_.uses_of(kernel))
      if (const std::int32_t first = graph_.tensors[static_cast<std::size_t>(use.tensor)].uses.front(); first < kernel)
        return block(first);
    return block_of_.back();
  }

  void count(std::int32_t ordinal) {
    const GraphTensor& tensor = graph_.tensors[static_cast<std::size_t>(ordinal)];
    const std::string& kind = graph_.kinds.size() > tensor.kind ? graph_.kinds[tensor.kind] : std::string();
    const std::size_t home = tensor.uses.empty() ? 0 : block(tensor.uses.front());
    if (kind == "param") model_.blocks[home].weights += tensor.asked;
    if (kind == "wgrad") model_.blocks[home].gradients += tensor.asked;
    if (kind == "opt") model_.blocks[home].optimizer_state += tensor.asked;
    if (kind == "param" || kind == "wgrad" || kind == "opt") return;
    const bool made = ordinal >= graph_.shape.held && tensor.first < backward_;
    const bool input = made && (tensor.writers.empty() || tensor.writers.front() >= backward_);
    const std::int64_t kept = made && tensor.outer > backward_ ? tensor.asked : 0;
    if (input) model_.input += tensor.asked;
    (input ? model_.input_kept : model_.blocks[home].activations) += kept;
    pass_on(tensor);
  }

  std::size_t block(std::int32_t kernel) const { return block_of_[static_cast<std::size_t>(kernel)]; }

  // Through every cut between the block that makes it and the furthest that reads it, in each direction.
  void pass_on(const GraphTensor& tensor) {
    if (tensor.writers.empty()) return;
    const std::size_t maker = block(tensor.writers.front());
    const bool forward = tensor.writers.front() < backward_;
    std::size_t furthest = maker, kept = maker;
    for (const std::int32_t use : tensor.uses) {
      if (in_phase(use, "optimizer")) continue;
      if (use >= backward_) kept = std::max(kept, block(use));
      if ((use < backward_) != forward) continue;
      furthest = forward ? std::max(furthest, block(use)) : std::min(furthest, block(use));
    }
    for (std::size_t b = maker; forward && b < furthest; ++b) model_.blocks[b].output += tensor.asked;
    for (std::size_t b = maker; forward && b < kept; ++b) model_.blocks[b].output_kept += tensor.asked;
    for (std::size_t b = furthest; !forward && b < maker; ++b) model_.blocks[b].output_gradient += tensor.asked;
  }

  const IterationGraph& graph_;
  const std::int32_t backward_;
  PipelineModel model_;
  std::vector<std::size_t> block_of_;  // by kernel
  Duration before_{};                  // of kernels in front of the first layer: zeroing gradients, once a batch
};

void add(PipelineStage& stage, const PipelineBlocks& block) {
  stage.forward += block.forward;
  stage.backward += block.backward;
  stage.step += block.step;
  stage.weights += block.weights;
  stage.gradients += block.gradients;
  stage.optimizer_state += block.optimizer_state;
  stage.activations += block.activations;
  stage.output = block.output;
  stage.output_gradient = block.output_gradient;
  stage.output_kept = block.output_kept;
}

}  // namespace

PipelineModel pipeline_model(const IterationGraph& graph) { return Blocks(graph).take(); }

std::vector<PipelineStage> pipeline_stages(const PipelineModel& model, int stages) {
  const std::vector<PipelineBlocks>& blocks = model.blocks;
  std::vector<Duration> work;
  for (const PipelineBlocks& block : blocks) work.push_back(block.forward + block.backward);
  std::vector<PipelineStage> cut;
  std::size_t first = 0;
  for (const std::size_t end : cut_evenly(work, stages)) {
    PipelineStage& stage = cut.emplace_back();
    stage.layer = blocks[first].layer;
    stage.input = first == 0 ? model.input : blocks[first - 1].output;
    stage.input_kept = first == 0 ? model.input_kept : blocks[first - 1].output_kept;
    stage.first = first;
    stage.outer = end;
    for (; first < end; ++first) add(stage, blocks[first]);
  }
  return cut;
}

std::int64_t stage_memory(PipelineKind kind, bool recompute, const std::vector<PipelineStage>& stages, int stage,
                          int micro_batches) {
  const PipelineStage& of = stages[static_cast<std::size_t>(stage)];
  const int versions = kind == PipelineKind::DoubleBuffered ? 2 : 1;
  const int in_flight = micro_batches_in_flight(kind, static_cast<int>(stages.size()), stage, micro_batches);
  const std::int64_t activations =
      recompute ? in_flight * of.input + of.activations : in_flight * (of.activations + of.input_kept);
  return versions * of.weights + of.gradients + of.optimizer_state + activations;
}

}  // namespace uvmsim
