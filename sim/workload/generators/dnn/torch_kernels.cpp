#include "workload/generators/dnn/torch_kernels.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "trace/error_list.h"
#include "workload/generators/dnn/conv_work.h"
#include "workload/generators/dnn/matrix_operands.h"
#include "workload/generators/dnn/ops.h"

namespace uvmsim::dnn {
namespace {

std::int64_t bytes_of(const TorchTensor& t) { return std::min(t.length, t.count() * size_of(t.type)); }

// Not a view that repeats elements, which has no rows of its own.
bool is_whole(const TorchTensor& t) { return bytes_of(t) == t.count() * size_of(t.type); }

// A slice with gaps stands for one run of as many bytes from its first element, as Tensor::view has it.
Operand dense(const TorchTensor& t, std::int32_t passes = 1) {
  const std::int64_t bytes = bytes_of(t);
  return {.storage = t.storage,
          .length = bytes,
          .whole = t.offset == 0 && bytes == t.storage_bytes,
          .offset = t.offset,
          .passes = passes};
}
std::vector<Operand> dense(const std::vector<TorchTensor>& tensors, std::size_t from = 0) {
  std::vector<Operand> all;
  for (std::size_t i = from; i < tensors.size(); ++i) all.push_back(dense(tensors[i]));
  return all;
}
Operand shared(const TorchTensor& t) { return dnn::shared(dense(t)); }
Operand rows(const TorchTensor& t, std::int32_t passes = 1) {
  return t.shape.empty() || !is_whole(t) ? dense(t, passes) : dnn::rows(dense(t, passes), t.shape.back(), t.type);
}
// Images that lie as (N, C, extents...).
Operand channels(const TorchTensor& t, std::int32_t passes = 1) {
  return is_whole(t) && !t.transposed ? dnn::channels(dense(t, passes), t.shape, t.type) : dense(t, passes);
}
Operand pixels(const TorchTensor& t) {
  return is_whole(t) && !t.transposed ? dnn::pixels(dense(t), t.shape, t.type) : dense(t);
}
Operand one_per_row(const TorchTensor& t) {
  return t.shape.size() < 2 || !is_whole(t) ? dense(t) : dnn::one_per_row(dense(t), t.shape.back(), t.type);
}

// One call and where it goes.
struct Launch {
  Recorder& recorder;
  const TorchOperator& op;

  const TorchTensor& read(std::size_t i) const { return at(op.reads, i, "reads"); }
  const TorchTensor& write(std::size_t i) const { return at(op.writes, i, "writes"); }
  bool tensor_cores() const { return recorder.tensor_cores(write(0).type); }

  void kernel(std::string_view name, KernelClass kernel_class, double flops, const std::vector<Operand>& reads,
              const std::vector<Operand>& writes, Recorder::Tuning tuning = {}) const {
    recorder.kernel(name,
                    op.of_optimizer && kernel_class == KernelClass::Pointwise ? KernelClass::Optimizer : kernel_class,
                    flops, reads, writes, tuning);
  }
  void zero(const TorchTensor& t) const { kernel("fill_zero", KernelClass::Fill, 0, {}, {wide(dense(t))}); }

 private:
  static const TorchTensor& at(const std::vector<TorchTensor>& tensors, std::size_t i, const char* what) {
    if (i < tensors.size()) return tensors[i];
    throw trace::ParseError{"expected an operator that " + std::string(what) + " at least " + std::to_string(i + 1) +
                            " tensors"};
  }
};

std::int64_t largest(const TorchOperator& op) {
  std::int64_t most = 0;
  for (const auto* side : {&op.reads, &op.writes})
    for (const TorchTensor& t : *side) most = std::max(most, t.count());
  return most;
}

// One kernel over all operands; those that are smaller than the largest are read by every CTA.
void sweep(const Launch& l, KernelClass kernel_class, double flops_per_element) {
  const std::int64_t most = largest(l.op);
  double flops = 0;
  std::vector<Operand> reads, writes;
  for (const TorchTensor& t : l.op.reads) reads.push_back(t.count() < most ? shared(t) : dense(t));
  for (const TorchTensor& t : l.op.writes) {
    // What is updated is the same operand on both sides.
    writes.push_back(dense(t));
    for (Operand& read : reads)
      if (read.storage == t.storage && read.offset == t.offset && read.length == writes.back().length)
        read.pattern = trace::Pattern::Sequential;
    flops += real(t.count());
  }
  const bool of_lists = l.op.name.starts_with("_fused") || l.op.name.starts_with("_amp_foreach");
  const double most_flops = of_lists ? flops : real(most);
  l.kernel(l.op.name, kernel_class, flops_per_element * most_flops, reads, writes, {.tensor_cores = l.tensor_cores()});
}

void pointwise(const Launch& l) { sweep(l, KernelClass::Pointwise, 1); }
void pointwise_backward(const Launch& l) { sweep(l, KernelClass::Pointwise, 2); }
void fused_dropout(const Launch& l) { sweep(l, KernelClass::Pointwise, 4); }
void copy(const Launch& l) { sweep(l, KernelClass::Copy, 0); }
void reduce(const Launch& l) { sweep(l, KernelClass::Reduction, 1); }
void attend(const Launch& l) {
  // Two products forward and five backward, each over the pairs of queries and keys.
  const Shape& q = l.read(l.op.name.ends_with("backward") ? 1 : 0).shape;
  const Shape& k = l.read(l.op.name.ends_with("backward") ? 2 : 1).shape;
  if (q.size() < 4 || k.size() < 4) return pointwise(l);
  const double products = l.op.name.ends_with("backward") ? 5 : 2;
  l.kernel(l.op.name, KernelClass::Attention, products * 2.0 * real(q[0] * q[1] * q[2]) * real(k[2]) * real(q[3]),
           dense(l.op.reads), dense(l.op.writes), {.tensor_cores = l.tensor_cores()});
}

void fill(const Launch& l) {
  std::vector<Operand> writes;
  for (const TorchTensor& t : l.op.writes) writes.push_back(wide(dense(t)));
  l.kernel(l.op.name, KernelClass::Fill, 0, {}, writes);
}

// Zeroes what it returns, and writes a part of it.
void scatter_into_zeros(const Launch& l) {
  l.zero(l.write(0));
  l.kernel(l.op.name, KernelClass::Copy, 0, {dense(l.read(0))}, {dense(l.write(0))});
}

// --- Convolutions and pooling ------------------------------------------------------------------------------------

ConvWork work_of(const Launch& l, const TorchTensor& x, const TorchTensor& weight, const TorchTensor& out) {
  const std::size_t rank = x.shape.size();
  if (rank < 3 || rank > 5 || weight.shape.size() != rank || out.shape.size() != rank)
    throw trace::ParseError{"expected a convolution over one to three extents"};
  if (l.op.groups > x.shape[1]) throw trace::ParseError{"expected no more groups than channels"};
  return conv_work(x.shape, weight.shape, out.shape, l.op.groups, l.op.transposed, l.tensor_cores());
}

void convolve(const Launch& l) {
  const ConvWork work = work_of(l, l.read(0), l.read(1), l.write(0));
  const TorchTensor& out = l.write(0);
  const auto operand = [grouped = l.op.groups > 1](const TorchTensor& t) { return grouped ? dense(t) : pixels(t); };
  l.kernel(work.name + "_fwd", work.forward.kernel_class, work.flops, {operand(l.read(0)), shared(l.read(1))},
           {operand(out)}, work.forward.tuning);
  if (l.op.reads.size() > 2)
    l.kernel("bias_add", KernelClass::Pointwise, real(out.count()), {dense(out), shared(l.read(2))}, {dense(out)},
             {l.tensor_cores()});
}

void convolve_backward(const Launch& l) {
  const TorchTensor &dy = l.read(0), &x = l.read(1), &weight = l.read(2);
  const ConvWork work = work_of(l, x, weight, dy);
  if (l.op.wanted.size() != 3 || static_cast<std::size_t>(std::ranges::count(l.op.wanted, true)) != l.op.writes.size())
    throw trace::ParseError{"expected \"output_mask\" to say which gradients are written"};
  const auto operand = [grouped = l.op.groups > 1](const TorchTensor& t) { return grouped ? dense(t) : pixels(t); };
  std::size_t next = 0;
  if (l.op.wanted[0])
    l.kernel(work.name + "_dgrad", work.data.kernel_class, work.flops, {operand(dy), shared(weight)},
             {operand(l.write(next++))}, work.data.tuning);
  if (l.op.wanted[1])
    l.kernel(work.name + "_wgrad", work.weight.kernel_class, work.flops, {operand(x), operand(dy)},
             {dense(l.write(next++))}, work.weight.tuning);
  if (l.op.wanted[2])
    l.kernel("bias_grad", KernelClass::Reduction, real(dy.count()), {dense(dy)}, {dense(l.write(next))},
             {l.tensor_cores()});
}

void pool(const Launch& l) {
  sweep(l, KernelClass::Pointwise, real(l.op.window) * real(l.write(0).count()) / real(largest(l.op)));
}

void pool_backward(const Launch& l) {
  if (l.op.name.starts_with("max")) l.zero(l.write(0));
  l.kernel(l.op.name, KernelClass::Pointwise, real(l.write(0).count()), dense(l.op.reads), {dense(l.write(0))});
}

// --- Products ----------------------------------------------------------------------------------------------------

// How near its class's efficiency a product comes: as those of a linear layer. That for the weight's gradient has the
// transposed gradient of the output on its left.
double product_efficiency(const Launch& l, const TorchTensor& a) {
  if (a.shape.size() != 2) return 1;
  const double k = real(a.shape.back());
  if (!l.op.of_backward) return inner_efficiency(k);
  return a.transposed ? weight_gradient_efficiency() : data_gradient_efficiency(k);
}

// The last two of `reads` are multiplied, after what is added to their product.
void multiply(const Launch& l) {
  const std::size_t factors = l.op.reads.size();
  const TorchTensor& y = l.write(0);
  const bool square = factors == 1;  // x times itself
  const TorchTensor &a = l.read(square ? 0 : factors - 2), &b = l.read(square ? 0 : factors - 1);
  const double k = a.shape.empty() ? 1 : real(a.shape.back());
  const bool matrices = a.shape.size() == 2 && b.shape.size() == 2 && y.shape.size() == 2;
  const bool tiled = matrices && is_whole(a) && is_whole(b) && is_whole(y) &&
                     std::max({bytes_of(a), bytes_of(b), bytes_of(y)}) >= kTiledBytes;
  const auto operand = [&](const TorchTensor& t, bool weight) {
    if (tiled) return tile(dense(t), t.shape[0], t.shape[1], t.type, t.transposed);
    return weight ? shared(t) : dense(t);
  };
  std::vector<Operand> reads = {operand(a, false), operand(b, matrices)};
  for (std::size_t i = 0; i + 2 < factors; ++i) reads.push_back(shared(l.read(i)));
  l.kernel(l.op.name, KernelClass::Gemm, 2.0 * real(y.count()) * k, reads, {operand(y, false)},
           {l.tensor_cores(), product_efficiency(l, a)});
}

// --- Normalisation, softmax, losses ------------------------------------------------------------------------------

void batch_norm_forward(const Launch& l) {
  const TorchTensor& x = l.read(0);
  std::vector<Operand> reads = {channels(x, 2)}, writes = {channels(l.write(0))};
  for (std::size_t i = 1; i < l.op.reads.size(); ++i) reads.push_back(shared(l.read(i)));
  for (std::size_t i = 1; i < l.op.writes.size(); ++i) writes.push_back(shared(l.write(i)));
  l.kernel(l.op.name, KernelClass::BatchNorm, 8.0 * real(x.count()), reads, writes,
           batch_norm_tuning(x.shape.size() > 1 ? x.shape[1] : 1));
}

void batch_norm_backward(const Launch& l) {
  const TorchTensor& dy = l.read(0);
  std::vector<Operand> reads, writes;
  for (const TorchTensor& t : l.op.reads) reads.push_back(t.count() == dy.count() ? channels(t, 2) : shared(t));
  for (const TorchTensor& t : l.op.writes) writes.push_back(t.count() == dy.count() ? channels(t) : dense(t));
  l.kernel(l.op.name, KernelClass::BatchNorm, 11.0 * real(dy.count()), reads, writes,
           batch_norm_tuning(dy.shape.size() > 1 ? dy.shape[1] : 1));
}

void row_norm(const Launch& l) {
  const TorchTensor& x = l.read(0);
  std::vector<Operand> reads = {rows(x)}, writes = {rows(l.write(0))};
  for (std::size_t i = 1; i < l.op.reads.size(); ++i) reads.push_back(shared(l.read(i)));
  for (std::size_t i = 1; i < l.op.writes.size(); ++i) writes.push_back(dense(l.write(i)));
  l.kernel(l.op.name, KernelClass::BatchNorm, 8.0 * real(x.count()), reads, writes);
}

// The gradient of the data, and a sum over the rows for those of the weights.
void row_norm_backward(const Launch& l) {
  const TorchTensor& dy = l.read(0);
  std::vector<Operand> by_rows, summed, weights;
  for (const TorchTensor& t : l.op.reads) {
    const bool full = t.count() == dy.count();
    by_rows.push_back(full ? rows(t) : shared(t));
    if (full) summed.push_back(dense(t));
  }
  for (std::size_t i = 0; i < l.op.writes.size(); ++i) {
    const TorchTensor& gradient = l.write(i);
    if (gradient.count() == dy.count())
      l.kernel(l.op.name, KernelClass::BatchNorm, 11.0 * real(dy.count()), by_rows, {rows(gradient)});
    else
      weights.push_back(dense(gradient));
  }
  if (!weights.empty())
    l.kernel(l.op.name + "_weights", KernelClass::Reduction, 4.0 * real(dy.count()), summed, weights);
}

void softmax(const Launch& l) {
  const TorchTensor& x = l.read(0);
  const std::int32_t passes = l.op.name == "_log_softmax" ? 2 : 1;
  l.kernel(l.op.name, KernelClass::Softmax, 5.0 * real(x.count()), {rows(x, passes)}, {rows(l.write(0))});
}

void softmax_backward(const Launch& l) {
  const std::int32_t passes = l.op.name.starts_with("_log") ? 2 : 1;
  l.kernel(l.op.name, KernelClass::Softmax, 4.0 * real(l.read(0).count()), {rows(l.read(0), passes), rows(l.read(1))},
           {rows(l.write(0))});
}

void nll_loss(const Launch& l) {
  std::vector<Operand> reads = dense(l.op.reads);
  reads[0] = one_per_row(l.read(0));
  l.kernel(l.op.name, KernelClass::Gather, real(l.read(1).count()), reads, dense(l.op.writes));
}

void nll_loss_backward(const Launch& l) {
  const TorchTensor& dx = l.write(0);
  l.zero(dx);
  // The zeros around the written elements stay, so the range is updated rather than overwritten.
  l.kernel(l.op.name, KernelClass::Gather, real(l.read(2).count()),
           {dense(l.read(0)), dense(l.read(2)), one_per_row(dx)}, {one_per_row(dx)});
}

// --- Tables ------------------------------------------------------------------------------------------------------

Operand rows_of(const TorchTensor& table, const TorchTensor& index) {
  return gather(dense(table), index.count(), table.count() / table.shape[0] * size_of(table.type));
}

void embed(const Launch& l) {
  const TorchTensor &table = l.read(0), &index = l.read(1);
  if (table.shape.empty()) return pointwise(l);
  std::vector<Operand> reads = dense(l.op.reads, 1);
  reads.push_back(rows_of(table, index));
  l.kernel(l.op.name, KernelClass::Gather, 0, reads, dense(l.op.writes));
}

// Indices are sorted with their positions, so that equal ones are summed without atomics.
void embed_backward(const Launch& l) {
  const TorchTensor &dy = l.read(0), &index = l.read(1), &table = l.write(0);
  if (table.shape.empty()) return pointwise(l);
  l.zero(table);
  const std::int64_t bytes = index.count() * 4 * size_of(DataType::Int64);
  const Operand sorted{.storage = l.recorder.allocate(bytes, TensorKind::Workspace), .length = bytes};
  l.kernel("embedding_sort", KernelClass::Pointwise, 20.0 * real(index.count()), {dense(index)}, {sorted});
  l.kernel(l.op.name, KernelClass::Gather, real(dy.count()), {dense(dy), sorted}, {rows_of(table, index)});
  l.recorder.free(sorted.storage);
}

// Whether `index` names rows of the first dimension of `table`, and `rows` is what they hold.
bool names_rows(const TorchTensor& index, const TorchTensor& table, const TorchTensor& rows) {
  const bool is_index = index.type == DataType::Int64 || index.type == DataType::Int32;
  return is_index && index.count() > 0 && table.shape.size() >= 2 && is_whole(table) &&
         table.count() / table.shape[0] * index.count() == rows.count();
}

// index_select(table, index), table[index]; a mask, or an index for each of several dimensions, may take any element.
void look_up(const Launch& l) {
  if (l.op.reads.size() != 2 || !names_rows(l.read(1), l.read(0), l.write(0))) return sweep(l, KernelClass::Gather, 0);
  l.kernel(l.op.name, KernelClass::Gather, 0, {dense(l.read(1)), rows_of(l.read(0), l.read(1))}, {dense(l.write(0))});
}

// index_put_(table, index, rows), and the sum of a table and a sparse tensor: its indices, its values. False: neither.
bool updates_rows(const Launch& l) {
  const auto &reads = l.op.reads, &writes = l.op.writes;
  if (reads.size() != 3 || writes.size() != 1 || !names_rows(reads[1], writes[0], reads[2])) return false;
  const Operand table = rows_of(writes[0], reads[1]);
  l.kernel(l.op.name, KernelClass::Gather, real(reads[2].count()), {dense(reads[1]), dense(reads[2]), table}, {table});
  return true;
}

void put_rows(const Launch& l) { updates_rows(l) ? void() : sweep(l, KernelClass::Gather, 0); }
void add(const Launch& l) { updates_rows(l) ? void() : pointwise(l); }

// --- Lists -------------------------------------------------------------------------------------------------------

// What one kernel of multi_tensor_apply has of a list's tensors: chunks [from, to) of tensor `index`.
struct ListPart {
  std::size_t index = 0;
  std::int64_t from = 0, to = 0;
};

// Tensors of `chunks` among kernels, each of which has as many tensors and CTAs as fit into its arguments
// (ATen/native/cuda/MultiTensorApply.cuh).
std::vector<std::vector<ListPart>> kernels_over(const std::vector<std::int64_t>& chunks, std::size_t lists) {
  constexpr std::int64_t kMostCtas = 320;
  constexpr std::size_t kMostTensors[] = {110, 64, 48, 36, 30};  // by lists
  const std::size_t most_tensors = kMostTensors[std::clamp<std::size_t>(lists, 1, std::size(kMostTensors)) - 1];
  std::vector<std::vector<ListPart>> kernels(1);
  std::int64_t ctas = 0;
  for (std::size_t i = 0; i < chunks.size(); ++i)
    for (std::int64_t from = 0; from < chunks[i];) {
      if (ctas == kMostCtas || kernels.back().size() == most_tensors) kernels.emplace_back(), ctas = 0;
      const std::int64_t to = std::min(chunks[i], from + kMostCtas - ctas);
      kernels.back().push_back({i, from, to});
      ctas += to - from;
      from = to;
    }
  return kernels;
}

Operand chunks_of(const TorchTensor& t, const ListPart& part) {
  const std::int64_t chunk = kListChunk * size_of(t.type);
  Operand operand = dense(t);
  if (part.from > 0 || part.to * chunk < operand.length) operand.whole = false;
  operand.length = std::min(part.to * chunk, operand.length) - part.from * chunk;
  operand.offset += part.from * chunk;
  return part.to - part.from == 1 ? operand : dnn::rows(operand, kListChunk, t.type);
}

void over_lists(const Launch& l, KernelClass kernel_class, double flops_per_element) {
  const std::vector<TorchTensor>&reads = l.op.reads, &writes = l.op.writes;
  const std::size_t n = writes.size();
  bool lists = n > 0 && reads.size() % n == 0 && std::ranges::all_of(writes, is_whole);
  for (std::size_t i = 0; lists && i < reads.size(); ++i)
    lists = is_whole(reads[i]) && reads[i].count() == writes[i % n].count();
  if (!lists) return sweep(l, kernel_class, flops_per_element);  // such as a scalar in a tensor
  const bool in_place = !reads.empty() && reads[0].storage == writes[0].storage;
  std::vector<std::int64_t> chunks;
  for (const TorchTensor& t : writes) chunks.push_back((t.count() + kListChunk - 1) / kListChunk);
  for (const std::vector<ListPart>& kernel : kernels_over(chunks, reads.size() / n + (in_place ? 0 : 1))) {
    std::vector<Operand> parts_read, parts_written;
    double elements = 0;
    for (const ListPart& part : kernel) {
      for (std::size_t i = part.index; i < reads.size(); i += n) parts_read.push_back(chunks_of(reads[i], part));
      parts_written.push_back(chunks_of(writes[part.index], part));
      elements += real(parts_written.back().length / size_of(writes[part.index].type));
    }
    l.kernel(l.op.name, kernel_class, flops_per_element * elements, parts_read, parts_written,
             {.tensor_cores = l.tensor_cores()});
  }
}

void pointwise_lists(const Launch& l) { over_lists(l, KernelClass::Pointwise, 1); }
void copy_lists(const Launch& l) { over_lists(l, KernelClass::Copy, 0); }
void fill_lists(const Launch& l) { over_lists(l, KernelClass::Fill, 0); }

// --- By name -----------------------------------------------------------------------------------------------------

using Rule = void (*)(const Launch&);

const std::map<std::string_view, Rule>& rules() {
  static const std::map<std::string_view, Rule> all = {
      {"convolution", convolve},
      {"cudnn_convolution", convolve},
      {"convolution_backward", convolve_backward},
      {"max_pool2d_with_indices", pool},
      {"max_pool3d_with_indices", pool},
      {"avg_pool2d", pool},
      {"avg_pool3d", pool},
      {"max_pool2d_with_indices_backward", pool_backward},
      {"max_pool3d_with_indices_backward", pool_backward},
      {"avg_pool2d_backward", pool_backward},
      {"avg_pool3d_backward", pool_backward},
      {"_adaptive_avg_pool2d_backward", pool_backward},
      {"mm", multiply},
      {"addmm", multiply},
      {"_addmm_activation", multiply},
      {"bmm", multiply},
      {"baddbmm", multiply},
      {"mv", multiply},
      {"addmv", multiply},
      {"native_batch_norm", batch_norm_forward},
      {"cudnn_batch_norm", batch_norm_forward},
      {"_native_batch_norm_legit", batch_norm_forward},
      {"_batch_norm_with_update", batch_norm_forward},
      {"native_batch_norm_backward", batch_norm_backward},
      {"cudnn_batch_norm_backward", batch_norm_backward},
      {"batch_norm_backward", batch_norm_backward},
      {"native_layer_norm", row_norm},
      {"native_group_norm", row_norm},
      {"native_layer_norm_backward", row_norm_backward},
      {"native_group_norm_backward", row_norm_backward},
      {"_softmax", softmax},
      {"_log_softmax", softmax},
      {"_softmax_backward_data", softmax_backward},
      {"_log_softmax_backward_data", softmax_backward},
      {"nll_loss_forward", nll_loss},
      {"nll_loss_backward", nll_loss_backward},
      {"embedding", embed},
      {"embedding_dense_backward", embed_backward},
      {"_embedding_bag", embed},
      {"_embedding_bag_forward_only", embed},
      {"_embedding_bag_dense_backward", embed_backward},
      {"add_", add},
      {"_scaled_dot_product_flash_attention", attend},
      {"_scaled_dot_product_flash_attention_backward", attend},
      {"_scaled_dot_product_efficient_attention", attend},
      {"_scaled_dot_product_efficient_attention_backward", attend},
      {"_scaled_dot_product_cudnn_attention", attend},
      {"_scaled_dot_product_cudnn_attention_backward", attend},
      {"native_dropout", fused_dropout},
      {"slice_backward", scatter_into_zeros},
      {"select_backward", scatter_into_zeros},
      {"index_select", look_up},
      {"index", look_up},
      {"gather", look_up},
      {"index_put_", put_rows},
      {"_index_put_impl_", put_rows},
      {"index_add_", put_rows},
      {"scatter_add_", put_rows},
      {"_foreach_copy_", copy_lists},
      {"_foreach_zero_", fill_lists},
  };
  return all;
}

// Operators that are told by what their name begins with, or is but for a trailing `_`.
constexpr std::string_view kCopies[] = {"copy_",      "clone",           "_to_copy", "cat",  "stack",
                                        "contiguous", "constant_pad_nd", "repeat",   "roll", "flip"};
constexpr std::string_view kFills[] = {"zero_",    "fill_",    "zeros",      "ones",      "full",      "new_zeros",
                                       "new_ones", "new_full", "zeros_like", "ones_like", "full_like", "arange",
                                       "uniform_", "normal_",  "bernoulli_", "randn",     "rand"};
constexpr std::string_view kReductions[] = {
    "sum", "mean", "var",    "std",    "norm",   "linalg_vector_norm", "var_mean", "amax", "amin", "max", "min", "prod",
    "any", "all",  "argmax", "argmin", "cumsum", "_foreach_norm",      "logsumexp"};

Rule rule_of(const TorchOperator& op) {
  const auto found = rules().find(op.name);
  if (found != rules().end()) return found->second;
  const auto is_one_of = [&](const auto& names) { return std::ranges::find(names, op.name) != std::end(names); };
  if (is_one_of(kCopies)) return copy;
  if (is_one_of(kFills)) return fill;
  if (is_one_of(kReductions)) return reduce;
  if (op.name.starts_with("_foreach_")) return pointwise_lists;
  return op.name.ends_with("_backward") ? pointwise_backward : pointwise;
}

}  // namespace

std::int64_t TorchTensor::count() const {
  std::int64_t all = 1;
  for (const std::int64_t extent : shape) all *= extent;
  return all;
}

void launch(Recorder& recorder, const TorchOperator& op) {
  if (op.writes.empty()) throw trace::ParseError{"expected an operator that writes something"};
  rule_of(op)({recorder, op});
}

}  // namespace uvmsim::dnn
