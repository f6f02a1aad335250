#include "workload/generators/dnn/autograd.h"

#include <algorithm>
#include <limits>
#include <set>

namespace uvmsim::dnn {
namespace {

// What takes the gradient of `input`.
NodeRef sink_of(const Tensor& input) {
  if (input.made_by || input.parameter == nullptr) return input.made_by;
  Parameter* parameter = input.parameter;
  if (!parameter->accumulate) {
    parameter->accumulate = new Node;
    parameter->accumulate->sequence = std::numeric_limits<std::int64_t>::max();  // as soon as it is ready
    parameter->accumulate->parameter = parameter;
  }
  return parameter->accumulate;
}

void count_consumers(const NodeRef& root) {
  root->visited = true;
  std::vector<Node*> stack = {root.get()};
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    for (const NodeRef& input : node->inputs) {
      if (!input) continue;
      ++input->pending;
      if (!input->visited) stack.push_back(input.get());
      input->visited = true;
    }
  }
}

// The gradient buffer of a parameter is the first gradient that arrives; later ones are added to it.
void accumulate(Parameter& parameter, const Tensor& gradient) {
  parameter.accumulate = nullptr;
  if (!parameter.gradient) {
    parameter.gradient = gradient;
    return;
  }
  parameter.gradient.recorder().kernel("accumulate_grad", KernelClass::Pointwise, static_cast<double>(gradient.count()),
                                       {dense(parameter.gradient), dense(gradient)}, {dense(parameter.gradient)},
                                       {.tensor_cores = gradient.recorder().tensor_cores()});
}

// Adds `gradient` to what other consumers of the same tensor delivered: out of place in PyTorch 1.0, so that
// both summands live until the sum is made.
void deliver(Node& node, Tensor gradient) {
  if (!gradient) return;
  if (!node.gradient) {
    node.gradient = std::move(gradient);
    return;
  }
  Recorder& recorder = gradient.recorder();
  const bool in_place = recorder.torch() != TorchVersion::V1_0;
  Tensor sum =
      in_place ? node.gradient.alias() : Tensor(recorder, gradient.shape(), gradient.type(), TensorKind::Gradient);
  recorder.kernel(in_place ? "grad_add_" : "grad_add", KernelClass::Pointwise, static_cast<double>(sum.count()),
                  {dense(node.gradient), dense(gradient)}, {dense(sum)}, {.tensor_cores = recorder.tensor_cores()});
  node.gradient = std::move(sum);
}

// CPython frees a list from its last element to its first.
void release(Saved& saved) {
  while (!saved.empty()) saved.pop_back();
}

}  // namespace

void link(Tensor& output, const std::vector<const Tensor*>& inputs, Saved saved, Backward backward) {
  std::vector<NodeRef> sinks;
  for (const Tensor* input : inputs) sinks.push_back(sink_of(*input));
  if (std::ranges::none_of(sinks, [](const NodeRef& sink) { return sink != nullptr; })) return;
  const NodeRef node = new Node;
  node->sequence = output.recorder().next_sequence();
  node->layer = output.recorder().layer();
  node->inputs = std::move(sinks);
  node->saved = std::move(saved);
  node->backward = std::move(backward);
  output.made_by = node;
}

void backward(const Tensor& loss) {
  const NodeRef root = loss.made_by;
  count_consumers(root);
  root->gradient = Tensor(loss.recorder(), loss.shape(), loss.type(), TensorKind::Gradient);
  loss.recorder().kernel("fill_ones", KernelClass::Fill, 0, {}, {wide(root->gradient)});

  // Ready nodes, latest operation first; of equals, the one that became ready first.
  struct Ready {
    std::int64_t sequence, order;
    NodeRef node;
    bool operator<(const Ready& other) const {
      return sequence != other.sequence ? sequence > other.sequence : order < other.order;
    }
  };
  std::set<Ready> ready;
  std::int64_t order = 0;
  ready.insert({root->sequence, order++, root});
  while (!ready.empty()) {
    const NodeRef node = std::move(ready.extract(ready.begin()).value().node);
    Tensor gradient = std::move(node->gradient);
    if (node->parameter != nullptr) {
      accumulate(*node->parameter, gradient);
      continue;
    }
    loss.recorder().enter(node->layer);
    std::vector<Tensor> gradients = node->backward(node->saved, gradient);
    gradient = {};
    release(node->saved);
    node->backward = nullptr;
    const std::vector<NodeRef> inputs = std::move(node->inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i]) continue;
      deliver(*inputs[i], std::move(gradients[i]));
      if (--inputs[i]->pending == 0) ready.insert({inputs[i]->sequence, order++, inputs[i]});
    }
  }
}

}  // namespace uvmsim::dnn
