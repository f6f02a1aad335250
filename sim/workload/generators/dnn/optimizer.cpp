#include "workload/generators/dnn/optimizer.h"

#include "workload/generators/dnn/matrix_operands.h"

namespace uvmsim::dnn {
namespace {

// One elementary operation on whole tensors: `target` is updated from itself and `others`.
void update(std::string_view name, const Tensor& target, const std::vector<const Tensor*>& others) {
  std::vector<Operand> reads = {dense(target)};
  for (const Tensor* other : others) reads.push_back(dense(*other));
  target.recorder().kernel(name, KernelClass::Optimizer, static_cast<double>(target.count()), reads, {dense(target)});
}

// Adds a sparse gradient to the rows it names: plain stochastic gradient descent.
void update_rows(const Parameter& p) {
  const Tensor& table = p.value;
  const Operand touched = gather(dense(table), p.gradient_rows.count(), table.shape().back() * size_of(table.type()));
  table.recorder().kernel("sgd_sparse_add_", KernelClass::Gather, static_cast<double>(p.gradient.count()),
                          {dense(p.gradient), dense(p.gradient_rows), touched}, {touched});
}

}  // namespace

const std::vector<std::string>& Optimizer::names() {
  static const std::vector<std::string> all = {"sgd", "plain_sgd", "adam", "adamw"};
  return all;
}

void Optimizer::step(Net& net) {
  for (Parameter& p : net.parameters()) {
    if (!p.gradient) continue;
    net.recorder().enter(p.layer);
    if (p.gradient_rows)
      update_rows(p);
    else if (name_ == "adam" || name_ == "adamw")
      adam(p);
    else
      sgd(p, name_ == "sgd");
  }
}

void Optimizer::sgd(Parameter& p, bool momentum_and_decay) {
  if (!momentum_and_decay) return update("sgd_p_add_", p.value, {&p.gradient});
  update("sgd_wd_add_", p.gradient, {&p.value});
  const Tensor& momentum = state(p, 1, p.value.type())[0];
  update("sgd_buf_mul_", momentum, {});
  update("sgd_buf_add_", momentum, {&p.gradient});
  update("sgd_p_add_", p.value, {&momentum});
}

void Optimizer::adam(Parameter& p) {
  const std::vector<Tensor>& moments = state(p, 2, DataType::Float32);
  const Tensor& m = moments[0];
  const Tensor& v = moments[1];
  if (name_ == "adamw") update("adamw_p_mul_", p.value, {});
  update("adam_m_mul_", m, {});
  update("adam_m_add_", m, {&p.gradient});
  update("adam_v_mul_", v, {});
  update("adam_v_addcmul_", v, {&p.gradient});
  const Tensor denominator(m.recorder(), m.shape(), DataType::Float32, TensorKind::Workspace);
  m.recorder().kernel("adam_sqrt", KernelClass::Optimizer, static_cast<double>(v.count()), {dense(v)},
                      {dense(denominator)});
  update("adam_add_eps", denominator, {});
  update("adam_addcdiv_", p.value, {&m, &denominator});
}

const std::vector<Tensor>& Optimizer::state(const Parameter& p, std::size_t count, DataType type) {
  std::vector<Tensor>& tensors = state_[p.name];
  if (!tensors.empty()) return tensors;
  Recorder& recorder = p.value.recorder();
  for (std::size_t i = 0; i < count; ++i) tensors.emplace_back(recorder, p.value.shape(), type, TensorKind::Optimizer);
  for (const Tensor& tensor : tensors)
    recorder.kernel("fill_zero", KernelClass::Fill, 0, {}, {wide(tensor)}, {.tensor_cores = recorder.tensor_cores()});
  return tensors;
}

void zero_grad(Net& net) {
  for (Parameter& p : net.parameters()) {
    if (!p.gradient) continue;
    net.recorder().enter(p.layer);
    if (net.recorder().torch() == TorchVersion::V1_0 && !p.gradient_rows)
      net.recorder().kernel("zero_", KernelClass::Fill, 0, {}, {wide(p.gradient)});
    else
      p.gradient = {};
  }
}

}  // namespace uvmsim::dnn
