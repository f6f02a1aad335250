// Operations of language models, transformers and recommenders; conventions as in ops.h.
#pragma once

#include <vector>

#include "workload/generators/dnn/ops.h"

namespace uvmsim::dnn {

// Rows of `table` (rows, width) by `index`. Saves the index; the gradient of the table is dense.
Tensor embedding(const Tensor& index, const Tensor& table);

// As `embedding`, with a sparse gradient: one row per index (nn.EmbeddingBag with one index per bag, sparse=True).
Tensor sparse_embedding(const Tensor& index, const Tensor& table);

// x (..., width) plus `position`, which is repeated over the batch. Saves nothing.
Tensor add_position(const Tensor& x, const Tensor& position);

// Another data type. Saves nothing.
Tensor to_type(const Tensor& x, DataType type);

// cuDNN's LSTM over x (steps, batch, width). `weights`: input, recurrent and two bias weights of each layer.
// Saves input, output and cuDNN's reserve: per layer, step and sample four gates, cell, tanh(cell) and output, and a
// dropout mask between layers (assumed). Its kernels stand for up to 64 steps each.
struct LstmResult {
  Tensor output, hidden, cell;
};
LstmResult lstm(const Tensor& x, const std::vector<Tensor>& weights, std::int64_t hidden, std::int64_t layers);

// Products of a batch of matrices: a (batch, m, k) times b, k (batch, k, n) or its transpose, to `shape`. Saves both.
Tensor batched_product(const Tensor& a, const Tensor& b, Shape shape, double flops);

// Softmax over the last dimension. Saves its result.
Tensor softmax(const Tensor& x);

// `dimension`, or the last one, cut into `parts` views. The gradients are concatenated into a new tensor.
std::vector<Tensor> split(const Tensor& x, std::int64_t parts, std::size_t dimension);
inline std::vector<Tensor> split(const Tensor& x, std::int64_t parts) { return split(x, parts, x.shape().size() - 1); }

// x (batch, n, width) at n = 0: a view; its gradient is zero elsewhere.
Tensor first_token(const Tensor& x);
// `token` (width), repeated over the batch, in front of x (batch, n, width): a new tensor.
Tensor prepend_token(const Tensor& token, const Tensor& x);

// Attention of q, k and v (batch, length, width) each.
enum class AttentionMask {
  None,
  Additive,  // scores + mask
  Fill,      // scores filled with -inf where the mask is zero
};
struct AttentionShape {
  std::int64_t heads = 1;
  AttentionMask mask = AttentionMask::None;
  bool dropout = false;
  // One kernel that saves q, k, v, its result and a float per row and head. Otherwise scores, probabilities and
  // dropout masks are materialised, and q, k, v are copied to (batch, head, length, width / heads).
  bool flash = false;
};
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionShape& shape);

// The pairwise products of `features` vectors: x (batch, features, width) to (batch, features (features - 1) / 2).
Tensor interact(const Tensor& x);

// The mean binary cross entropy of probabilities (n, 1). Saves both.
Tensor binary_cross_entropy(const Tensor& probabilities, const Tensor& target);

}  // namespace uvmsim::dnn
