#include "plan/sparsity.h"

#include <algorithm>

namespace uvmsim {
namespace {

constexpr double kFirst = 0.5, kMean = 0.62;

bool is_relu(const std::string& name) { return name.find("relu") != std::string::npos; }

}  // namespace

SparsityTable::SparsityTable(const IterationGraph& graph, std::optional<double> given) : graph_(graph), given_(given) {
  const std::int32_t backward = graph.first_kernel_of("backward");
  const std::int32_t outer = backward < 0 ? graph.shape.kernels : backward;
  for (std::int32_t k = 0; k < outer; ++k)
    if (is_relu(graph.name_of(k))) relus_.push_back(k);
}

std::int32_t SparsityTable::relu_before(std::int32_t kernel, std::int32_t tensor) const {
  const std::vector<std::int32_t>& writers = graph_.tensors[static_cast<std::size_t>(tensor)].writers;
  const auto after = std::ranges::upper_bound(writers, kernel);
  if (after == writers.begin()) return -1;
  const std::int32_t writer = *(after - 1);
  return std::ranges::binary_search(relus_, writer) ? writer : -1;
}

double SparsityTable::after(std::int32_t kernel, std::int32_t tensor) const {
  if (given_) return *given_;
  const GraphTensor& t = graph_.tensors[static_cast<std::size_t>(tensor)];
  if (t.zeros >= 0) return t.zeros / 100.0;
  const std::int32_t relu = relu_before(kernel, tensor);
  if (relu < 0) return 0;
  if (relus_.size() == 1) return kMean;
  const auto depth = static_cast<double>(std::ranges::lower_bound(relus_, relu) - relus_.begin());
  return kFirst + 2 * (kMean - kFirst) * depth / static_cast<double>(relus_.size() - 1);
}

}  // namespace uvmsim
