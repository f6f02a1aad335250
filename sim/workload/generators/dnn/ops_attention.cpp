#include <memory>

#include "workload/generators/dnn/matrix_operands.h"
#include "workload/generators/dnn/ops_sequence.h"

namespace uvmsim::dnn {
namespace {

Tensor masked(const Tensor& scores, AttentionMask mask) {
  Recorder& recorder = scores.recorder();
  Tensor y(recorder, scores.shape(), scores.type(), TensorKind::Activation);
  const bool fill = mask == AttentionMask::Fill;
  recorder.kernel(fill ? "masked_fill" : "mask_add", KernelClass::Pointwise, real(y.count()), {dense(scores)},
                  {dense(y)});
  link(y, {&scores}, {},
       [&recorder, fill, shape = y.shape(), type = y.type()](const Saved&, const Tensor& dy) -> std::vector<Tensor> {
         if (!fill) return {dy};
         Tensor dx(recorder, shape, type, TensorKind::Gradient);
         recorder.kernel("masked_fill_bwd", KernelClass::Pointwise, real(dx.count()), {dense(dy)}, {dense(dx)});
         return {dx};
       });
  return y;
}

Tensor flash_attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionShape& shape, double flops) {
  Recorder& recorder = q.recorder();
  const std::int64_t rows_of_heads = q.shape()[0] * shape.heads * q.shape()[1];
  // Tiles behind a causal mask are skipped.
  const double work = shape.mask == AttentionMask::Fill ? flops / 2 : flops;
  Tensor y(recorder, q.shape(), q.type(), TensorKind::Activation);
  const StorageRef log_sum = new Storage(recorder, rows_of_heads * 4, TensorKind::Activation);
  recorder.kernel("flash_attention_fwd", KernelClass::Attention, 2 * work, {dense(q), dense(k), dense(v)},
                  {dense(y), dense(*log_sum)}, {recorder.tensor_cores()});
  // Slices of one storage keep their places by the tensors themselves.
  link(y, {&q, &k, &v}, {y.storage(), log_sum},
       [&recorder, work, q = q.alias(), k = k.alias(), v = v.alias()](const Saved& saved,
                                                                      const Tensor& dy) -> std::vector<Tensor> {
         std::vector<Tensor> gradients;
         for (int i = 0; i < 3; ++i) gradients.emplace_back(recorder, q.shape(), q.type(), TensorKind::Gradient);
         recorder.kernel("flash_attention_bwd", KernelClass::Attention, 5 * work,
                         {dense(q), dense(k), dense(v), dense(dy), dense(*saved[0]), dense(*saved[1])},
                         {dense(gradients[0]), dense(gradients[1]), dense(gradients[2])}, {recorder.tensor_cores()});
         return gradients;
       });
  return y;
}

}  // namespace

Tensor batched_product(const Tensor& a, const Tensor& b, Shape shape, double flops) {
  Recorder& recorder = a.recorder();
  const Recorder::Tuning tuning{recorder.tensor_cores()};
  Tensor y(recorder, std::move(shape), a.type(), TensorKind::Activation);
  recorder.kernel("bmm", KernelClass::Gemm, flops, {dense(a), dense(b)}, {dense(y)}, tuning);
  link(y, {&a, &b}, {a.storage(), b.storage()},
       [&recorder, flops, tuning, a_shape = a.shape(), b_shape = b.shape(), type = a.type()](
           const Saved& saved, const Tensor& dy) -> std::vector<Tensor> {
         Tensor da(recorder, a_shape, type, TensorKind::Gradient);
         recorder.kernel("bmm_da", KernelClass::Gemm, flops, {dense(dy), dense(*saved[1])}, {dense(da)}, tuning);
         Tensor db(recorder, b_shape, type, TensorKind::Gradient);
         recorder.kernel("bmm_db", KernelClass::Gemm, flops, {dense(dy), dense(*saved[0])}, {dense(db)}, tuning);
         return {da, db};
       });
  return y;
}

Tensor softmax(const Tensor& x) {
  Recorder& recorder = x.recorder();
  Tensor y(recorder, x.shape(), x.type(), TensorKind::Activation);
  recorder.kernel("softmax_fwd", KernelClass::Softmax, 5.0 * real(x.count()), {rows(x)}, {rows(y)});
  link(y, {&x}, {y.storage()},
       [&recorder, shape = x.shape(), type = x.type()](const Saved& saved, const Tensor& dy) -> std::vector<Tensor> {
         Tensor dx(recorder, shape, type, TensorKind::Gradient);
         recorder.kernel("softmax_bwd", KernelClass::Softmax, 4.0 * real(dx.count()),
                         {rows(dy), rows_as(*saved[0], dx)}, {rows(dx)});
         return {dx};
       });
  return y;
}

std::vector<Tensor> split(const Tensor& x, std::int64_t parts, std::size_t dimension) {
  Recorder& recorder = x.recorder();
  Shape shape = x.shape();
  shape[dimension] /= parts;
  // Autograd's nodes have one output each: the last part whose gradient arrives concatenates them all.
  const auto arrived = std::make_shared<std::vector<Tensor>>();
  std::vector<Tensor> views;
  for (std::int64_t i = 0; i < parts; ++i) {
    Tensor view = x.view(shape, x.offset() + i * x.bytes() / parts);
    link(view, {&x}, {},
         [&recorder, arrived, parts, whole = x.shape(), type = x.type()](const Saved&,
                                                                         const Tensor& dy) -> std::vector<Tensor> {
           arrived->push_back(dy);
           if (static_cast<std::int64_t>(arrived->size()) < parts) return {Tensor()};
           Tensor dx(recorder, whole, type, TensorKind::Gradient);
           std::vector<Operand> reads;
           for (const Tensor& part : *arrived) reads.push_back(dense(part));
           recorder.kernel("cat", KernelClass::Copy, 0, reads, {dense(dx)});
           arrived->clear();
           return {dx};
         });
    views.push_back(std::move(view));
  }
  return views;
}

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionShape& shape) {
  const std::int64_t batch = q.shape()[0], length = q.shape()[1], width = q.shape()[2];
  const double flops = 2.0 * real(batch * length * length * width);  // of either product
  if (shape.flash) return flash_attention(q, k, v, shape, flops);
  const Shape by_head = {batch * shape.heads, length, width / shape.heads};
  Tensor p = batched_product(permute(q, by_head), permute(k, by_head), {batch * shape.heads, length, length}, flops);
  p = multiply(p);
  if (shape.mask != AttentionMask::None) p = masked(p, shape.mask);
  p = softmax(p);
  if (shape.dropout) p = dropout(p);
  return permute(batched_product(p, permute(v, by_head), by_head, flops), q.shape());
}

}  // namespace uvmsim::dnn
