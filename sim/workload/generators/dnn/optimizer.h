// Optimizers: one kernel per elementary operation and parameter, as PyTorch before fused optimizers.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "workload/generators/dnn/net.h"

namespace uvmsim::dnn {

class Optimizer {
 public:
  // "sgd": momentum and weight decay; "plain_sgd": neither; "adam"; "adamw", which decays the weights themselves.
  static const std::vector<std::string>& names();
  explicit Optimizer(std::string name) : name_(std::move(name)) {}

  // Updates every parameter that has a gradient. State is allocated and zeroed at the first step.
  void step(Net& net);

 private:
  void sgd(Parameter& p, bool momentum_and_decay);
  void adam(Parameter& p);
  // The `count` state tensors of a parameter; allocated and zeroed when first asked for.
  const std::vector<Tensor>& state(const Parameter& p, std::size_t count, DataType type);

  std::string name_;
  std::map<std::string, std::vector<Tensor>> state_;
};

// Zeroes the gradients (PyTorch 1.0) or drops them (2.x).
void zero_grad(Net& net);

}  // namespace uvmsim::dnn
