#include "workload/generators/dnn/matrix_operands.h"

namespace uvmsim::dnn {

Operand tile(Operand operand, std::int64_t rows, std::int64_t columns, DataType type, bool transposed) {
  const std::int64_t element = size_of(type);
  operand.pattern = trace::Pattern::Tile;
  operand.options = {
      .rows = rows, .columns = columns, .leading_dimension = columns * element, .element_bytes = element};
  if (transposed) {
    operand.options.leading_dimension = element;
    operand.options.stride = rows * element;
  }
  return operand;
}

Operand column_stripes(Operand operand, std::int64_t columns, DataType type) {
  constexpr std::int64_t kColumnsPerCta = 32;  // a warp reads one piece of a row
  const std::int64_t element = size_of(type);
  operand.pattern = trace::Pattern::Tile;
  operand.options = {.rows = operand.length / (columns * element),
                     .columns = columns,
                     .leading_dimension = columns * element,
                     .element_bytes = element,
                     .width = kColumnsPerCta * element};
  return operand;
}

Operand gather(Operand table, std::int64_t count, std::int64_t row_bytes) {
  table.pattern = trace::Pattern::Random;
  table.options = {.width = row_bytes, .count = count};
  return table;
}

Operand slice(Operand operand, std::int64_t index, std::int64_t count) {
  operand.offset += operand.length * index / count;
  operand.length /= count;
  operand.whole = operand.whole && count == 1;
  return operand;
}

}  // namespace uvmsim::dnn
