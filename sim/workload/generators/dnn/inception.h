// Blocks of parallel branches, as all Inception networks have them.
#pragma once

#include <string>
#include <vector>

#include "workload/generators/dnn/net.h"

namespace uvmsim::dnn::inception {

// One step of a branch: a convolution and ReLU, or a pooling.
struct Step {
  std::int64_t channels = 0;  // 0: a pooling
  Shape kernel = {1, 1};
  std::int64_t stride = 1, padding = kSame;
  bool maximum = false;    // else the pooling averages
  bool round_up = false;   // as PoolShape's
  bool normalised = true;  // between convolution and ReLU; else the convolution has a bias
};

inline Step same(std::int64_t channels, std::int64_t kernel) { return {channels, {kernel, kernel}}; }
inline Step row(std::int64_t channels, std::int64_t length) { return {channels, {1, length}}; }
inline Step column(std::int64_t channels, std::int64_t length) { return {channels, {length, 1}}; }
// Without padding.
inline Step valid(std::int64_t channels, std::int64_t kernel, std::int64_t stride) {
  return {channels, {kernel, kernel}, stride, 0};
}
// Without normalisation, as networks of before 2015 are.
inline Step plain(std::int64_t channels, std::int64_t kernel, std::int64_t stride = 1, std::int64_t padding = kSame) {
  return {.channels = channels, .kernel = {kernel, kernel}, .stride = stride, .padding = padding, .normalised = false};
}
inline Step average() { return {.kernel = {3, 3}}; }
inline Step maximum() { return {.kernel = {3, 3}, .stride = 2, .padding = 0, .maximum = true}; }
// As Caffe rounds it.
inline Step maximum_rounded_up() {
  return {.kernel = {3, 3}, .stride = 2, .padding = 0, .maximum = true, .round_up = true};
}
// Of the same extents.
inline Step maximum_around() { return {.kernel = {3, 3}, .maximum = true}; }

using Branch = std::vector<Step>;

// The steps one after the other; their layers are "name.0", "name.1", ...
Tensor chain(Net& net, const std::string& name, const Tensor& x, const Branch& steps);
// The branches side by side, concatenated.
Tensor block(Net& net, const std::string& name, const Tensor& x, const std::vector<Branch>& branches);

}  // namespace uvmsim::dnn::inception
