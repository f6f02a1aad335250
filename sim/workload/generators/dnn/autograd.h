// Reverse-mode differentiation as PyTorch's engine does it: the order of its operations and what keeps which
// storage alive.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "workload/generators/dnn/tensor.h"

namespace uvmsim::dnn {

using Saved = std::vector<StorageRef>;

// Computes the gradients of an operation's inputs, in their order (None where none is needed), from what the
// operation saved and the gradient of its output.
using Backward = std::function<std::vector<Tensor>(const Saved& saved, const Tensor& dy)>;

// An operation that was run, or (with `parameter`) the accumulation of a parameter's gradient.
struct Node : RefCounted<Node> {
  std::int64_t sequence = 0;      // operations run in descending order
  trace::StringIndex layer = -1;  // as Recorder::layer
  std::vector<NodeRef> inputs;    // what takes the gradient of each input; nullptr: nobody
  Saved saved;
  Backward backward;
  Parameter* parameter = nullptr;

  // During backward: the gradient of the output so far, and how many consumers have not delivered theirs.
  Tensor gradient;
  int pending = 0;
  bool visited = false;
};

// A leaf that is trained. Its gradient lives from the first backward pass on.
struct Parameter {
  std::string name;
  Tensor value;
  Tensor gradient;
  Tensor gradient_rows;  // of a sparse gradient: the row of `value` that each of its rows belongs to
  NodeRef accumulate;
  trace::StringIndex layer = -1;  // the first that used it
};

// Makes `output` the result of an operation on `inputs` (which may be None). The operation keeps `saved` alive
// until its backward has run. Nothing happens when no input needs a gradient.
void link(Tensor& output, const std::vector<const Tensor*>& inputs, Saved saved, Backward backward);

// Runs the operations that made `loss` in reverse, each in its layer, and leaves the parameters' gradients behind. Each
// operation releases what it saved, and the gradient it consumed, right after it ran.
void backward(const Tensor& loss);

}  // namespace uvmsim::dnn
