#include "plan/sparsity.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace uvmsim {
namespace {

constexpr double kFirst = 0.5, kMean = 0.62;

constexpr double kPooled = 1.4;

bool has_part(const std::string& name, std::span<const std::string_view> parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return name.find(part) != std::string::npos; });
}

bool is_relu(const std::string& name) { return name.find("relu") != std::string::npos; }

bool is_max_pooling(const std::string& name) {
  static constexpr std::array<std::string_view, 3> kParts = {"maxpool", "max_pool", "MaxPool"};
  return has_part(name, kParts);
}

// An element of the result is zero where one that was read is.
bool keeps_zeros(const std::string& name) {
  static constexpr std::array<std::string_view, 5> kParts = {"CatArray", "local_response_norm", "lrn", "LRN",
                                                             "dropout"};
  return name == "cat" || has_part(name, kParts);
}

}  // namespace

SparsityTable::SparsityTable(const IterationGraph& graph, std::optional<double> given) : graph_(graph), given_(given) {
  const std::int32_t backward = graph.first_kernel_of("backward");
  forward_ = backward < 0 ? graph.shape.kernels : backward;
  for (std::int32_t k = 0; k < forward_; ++k)
    if (is_relu(graph.name_of(k))) relus_.push_back(k);
}

std::int32_t SparsityTable::writer_before(std::int32_t kernel, std::int32_t tensor) const {
  const std::vector<std::int32_t>& writers = graph_.tensors[static_cast<std::size_t>(tensor)].writers;
  const auto after = std::ranges::upper_bound(writers, kernel);
  return after == writers.begin() ? -1 : *(after - 1);
}

std::int32_t SparsityTable::relu_before(std::int32_t kernel, std::int32_t tensor) const {
  const std::int32_t writer = writer_before(kernel, tensor);
  return std::ranges::binary_search(relus_, writer) ? writer : -1;
}

double SparsityTable::after(std::int32_t kernel, std::int32_t tensor) const {
  if (given_) return *given_;
  const GraphTensor& t = graph_.tensors[static_cast<std::size_t>(tensor)];
  return t.zeros >= 0 ? t.zeros / 100.0 : of_relu(kernel, tensor);
}

double SparsityTable::of_relu(std::int32_t kernel, std::int32_t tensor) const {
  const std::int32_t writer = writer_before(kernel, tensor);
  if (writer < 0 || writer >= forward_) return 0;
  const auto relu = std::ranges::lower_bound(relus_, writer);
  if (relu == relus_.end() || *relu != writer) return kept(writer, tensor);
  if (relus_.size() == 1) return kMean;
  const auto depth = static_cast<double>(relu - relus_.begin());
  return kFirst + 2 * (kMean - kFirst) * depth / static_cast<double>(relus_.size() - 1);
}

// In the first tensor that `writer` writes (others are indexes and masks), of all that it reads.
double SparsityTable::kept(std::int32_t writer, std::int32_t tensor) const {
  const std::string& name = graph_.name_of(writer);
  if (!is_max_pooling(name) && !keeps_zeros(name)) return 0;
  const std::span<const TensorUse> uses = graph_.uses_of(writer);
  if (std::ranges::find_if(uses, &TensorUse::writes)->tensor != tensor) return 0;
  double bytes = 0, zeros = 0;
  for (const TensorUse& use : uses) {
    if (!use.reads) continue;
    const auto of_use = static_cast<double>(graph_.tensors[static_cast<std::size_t>(use.tensor)].bytes);
    bytes += of_use;
    zeros += of_use * of_relu(writer - 1, use.tensor);
  }
  const double share = bytes > 0 ? zeros / bytes : 0;
  return is_max_pooling(name) ? std::pow(share, kPooled) : share;
}

}  // namespace uvmsim
