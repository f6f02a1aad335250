#include "workload/generators/dnn/matrix_operands.h"
#include "workload/generators/dnn/ops_sequence.h"

namespace uvmsim::dnn {
namespace {

// The rows of a table (rows, width) that `count` indices name.
Operand rows_of(const Tensor& table, std::int64_t count) {
  return gather(dense(table), count, table.shape().back() * size_of(table.type()));
}

Tensor look_up(const Tensor& index, const Tensor& table) {
  Recorder& recorder = index.recorder();
  Shape shape = index.shape();
  shape.push_back(table.shape().back());
  Tensor y(recorder, std::move(shape), table.type(), TensorKind::Activation);
  recorder.kernel("embedding", KernelClass::Gather, 0, {dense(index), rows_of(table, index.count())}, {dense(y)});
  return y;
}

}  // namespace

Tensor embedding(const Tensor& index, const Tensor& table) {
  Recorder& recorder = index.recorder();
  Tensor y = look_up(index, table);
  link(y, {&table}, {index.storage()},
       [&recorder, count = index.count(), shape = table.shape(), type = table.type()](
           const Saved& saved, const Tensor& dy) -> std::vector<Tensor> {
         Tensor dw(recorder, shape, type, TensorKind::WeightGradient);
         recorder.kernel("fill_zero", KernelClass::Fill, 0, {}, {wide(dw)});
         // Indices are sorted with their positions, so that equal ones are summed without atomics.
         const StorageRef sorted = new Storage(recorder, count * 4 * size_of(DataType::Int64), TensorKind::Workspace);
         recorder.kernel("embedding_sort", KernelClass::Pointwise, 20.0 * real(count), {dense(*saved[0])},
                         {dense(*sorted)});
         recorder.kernel("embedding_dense_bwd", KernelClass::Gather, real(dy.count()), {dense(dy), dense(*sorted)},
                         {rows_of(dw, count)});
         return {dw};
       });
  return y;
}

Tensor sparse_embedding(const Tensor& index, const Tensor& table) {
  Recorder& recorder = index.recorder();
  Tensor y = look_up(index, table);
  Parameter* parameter = table.parameter;
  link(y, {&table}, {}, [&recorder, parameter, index](const Saved&, const Tensor& dy) -> std::vector<Tensor> {
    Tensor values(recorder, dy.shape(), dy.type(), TensorKind::WeightGradient);
    recorder.kernel("embedding_bag_sparse_bwd", KernelClass::Copy, 0, {dense(dy)}, {dense(values)});
    parameter->gradient_rows = index;
    return {values};
  });
  return y;
}

Tensor add_position(const Tensor& x, const Tensor& position) {
  Recorder& recorder = x.recorder();
  Tensor y(recorder, x.shape(), x.type(), TensorKind::Activation);
  recorder.kernel("add_position", KernelClass::Pointwise, real(x.count()), {dense(x), shared(position)}, {dense(y)});
  link(y, {&x, &position}, {},
       [&recorder, shape = position.shape(), type = position.type()](const Saved&,
                                                                     const Tensor& dy) -> std::vector<Tensor> {
         Tensor dp(recorder, shape, type, TensorKind::WeightGradient);
         recorder.kernel("position_grad", KernelClass::Reduction, real(dy.count()), {dense(dy)}, {dense(dp)});
         return {dy, dp};
       });
  return y;
}

Tensor to_type(const Tensor& x, DataType type) {
  Recorder& recorder = x.recorder();
  Tensor y(recorder, x.shape(), type, TensorKind::Activation);
  recorder.kernel("cast", KernelClass::Copy, 0, {dense(x)}, {dense(y)});
  link(y, {&x}, {},
       [&recorder, shape = x.shape(), from = x.type()](const Saved&, const Tensor& dy) -> std::vector<Tensor> {
         Tensor dx(recorder, shape, from, TensorKind::Gradient);
         recorder.kernel("cast_bwd", KernelClass::Copy, 0, {dense(dy)}, {dense(dx)});
         return {dx};
       });
  return y;
}

Tensor first_token(const Tensor& x) {
  Recorder& recorder = x.recorder();
  Tensor y = x.view({x.shape().front(), x.shape().back()}, x.offset());
  link(y, {&x}, {},
       [&recorder, shape = x.shape(), type = x.type()](const Saved&, const Tensor& dy) -> std::vector<Tensor> {
         Tensor dx(recorder, shape, type, TensorKind::Gradient);
         recorder.kernel("fill_zero", KernelClass::Fill, 0, {}, {wide(dx)});
         recorder.kernel("first_token_bwd", KernelClass::Copy, 0, {dense(dy)}, {dense_as(*dx.storage(), dy)});
         return {dx};
       });
  return y;
}

Tensor prepend_token(const Tensor& token, const Tensor& x) {
  Recorder& recorder = x.recorder();
  Shape shape = x.shape();
  ++shape[1];
  Tensor y(recorder, std::move(shape), x.type(), TensorKind::Activation);
  recorder.kernel("cat", KernelClass::Copy, 0, {shared(token), dense(x)}, {dense(y)});
  link(y, {&token, &x}, {},
       [&recorder, token_shape = token.shape(), shape = x.shape(), type = x.type()](
           const Saved&, const Tensor& dy) -> std::vector<Tensor> {
         Tensor dt(recorder, token_shape, type, TensorKind::WeightGradient);
         recorder.kernel("token_grad", KernelClass::Reduction, real(shape[0] * shape[2]),
                         {dense_as(*dy.storage(), dy.view({shape[0], shape[2]}, 0))}, {dense(dt)});
         return {dt, dy.view(shape, dy.offset())};
       });
  return y;
}

Tensor interact(const Tensor& x) {
  Recorder& recorder = x.recorder();
  const std::int64_t batch = x.shape()[0], features = x.shape()[1], width = x.shape()[2];
  const Tensor products =
      batched_product(x, x, {batch, features, features}, 2.0 * real(batch * features * features * width));
  Tensor y(recorder, {batch, features * (features - 1) / 2}, x.type(), TensorKind::Activation);
  recorder.kernel("lower_triangle", KernelClass::Gather, 0, {dense(products)}, {dense(y)});
  link(y, {&products}, {},
       [&recorder, shape = products.shape(), type = x.type()](const Saved&, const Tensor& dy) -> std::vector<Tensor> {
         Tensor dx(recorder, shape, type, TensorKind::Gradient);
         recorder.kernel("fill_zero", KernelClass::Fill, 0, {}, {wide(dx)});
         recorder.kernel("lower_triangle_bwd", KernelClass::Gather, 0, {dense(dy), dense(dx)}, {dense(dx)});
         return {dx};
       });
  return y;
}

Tensor binary_cross_entropy(const Tensor& probabilities, const Tensor& target) {
  Recorder& recorder = probabilities.recorder();
  Tensor loss(recorder, {1}, probabilities.type(), TensorKind::Activation);
  recorder.kernel("bce_fwd", KernelClass::Reduction, 5.0 * real(probabilities.count()),
                  {dense(probabilities), dense(target)}, {dense(loss)});
  link(loss, {&probabilities}, {probabilities.storage(), target.storage()},
       [&recorder, shape = probabilities.shape(), type = probabilities.type()](
           const Saved& saved, const Tensor& dy) -> std::vector<Tensor> {
         Tensor dx(recorder, shape, type, TensorKind::Gradient);
         recorder.kernel("bce_bwd", KernelClass::Pointwise, 4.0 * real(dx.count()),
                         {dense(dy), dense(*saved[0]), dense(*saved[1])}, {dense(dx)});
         return {dx};
       });
  return loss;
}

}  // namespace uvmsim::dnn
