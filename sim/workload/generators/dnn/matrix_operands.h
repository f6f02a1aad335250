// Operands of matrix products and of sums over the rows of a matrix.
#pragma once

#include "workload/generators/dnn/recorder.h"

namespace uvmsim::dnn {

// Below a VA block the order in which tiles touch a matrix changes no migration: its operand stays as it is.
inline constexpr std::int64_t kTiledBytes = std::int64_t{2} << 20;

// `operand` as the rows x columns matrix that a product sees; in memory it is the transpose if `transposed`.
Operand tile(Operand operand, std::int64_t rows, std::int64_t columns, DataType type, bool transposed = false);

// A GEMM whose inner dimension is `k` elements does not reach its class's efficiency when that is short (assumed).
constexpr double inner_efficiency(double k) { return k / (k + 60.0); }
// Of the products of backward: with the weight, whose inner dimension is split from 1024 on, and for the weight.
constexpr double data_gradient_efficiency(double k) { return inner_efficiency(k < 1024.0 ? k : 1024.0); }
constexpr double weight_gradient_efficiency() { return inner_efficiency(256); }

// `operand` as a matrix with rows of `columns` elements that is summed over its rows.
Operand column_stripes(Operand operand, std::int64_t columns, DataType type);

// `count` random rows of a table whose rows have `row_bytes`.
Operand gather(Operand table, std::int64_t count, std::int64_t row_bytes);

// Slice `index` of `count` equal ones.
Operand slice(Operand operand, std::int64_t index, std::int64_t count);

}  // namespace uvmsim::dnn
