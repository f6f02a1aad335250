// Records what an eager framework does: allocations, kernels with roofline durations, phases.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "workload/generators/dnn/roofline.h"
#include "workload/trace_builder.h"

namespace uvmsim::dnn {

class Storage;
class Tensor;

enum class DataType : std::uint8_t { Float32, Float16, BFloat16, Int64, UInt8, Float64, Int32 };
constexpr std::int64_t size_of(DataType type) {
  switch (type) {
    case DataType::Float32:
    case DataType::Int32:
      return 4;
    case DataType::Float16:
    case DataType::BFloat16:
      return 2;
    case DataType::Int64:
    case DataType::Float64:
      return 8;
    case DataType::UInt8:
      return 1;
  }
  return 0;
}

using Shape = std::vector<std::int64_t>;  // N, C, then the spatial extents

// Which PyTorch: the eager semantics that changed between 1.0 and 2.x.
enum class TorchVersion : std::uint8_t { V1_0, V2_x };

// One operand of a kernel: bytes of a storage.
struct Operand {
  trace::TensorId storage = 0;
  std::int64_t length = 0;
  bool whole = true;  // `length` is all of the storage
  std::int64_t offset = 0;
  trace::Pattern pattern = trace::Pattern::Sequential;
  std::int32_t passes = 1;
  trace::PatternOptions options = {};

  std::int64_t bytes() const;  // moved, over all passes
};

// A dense sweep: pointwise kernels, reductions; also the operands of small matrix products and of grouped convolutions,
// whose tiles cover them once in dispatch order.
Operand dense(const Storage& storage, std::int32_t passes = 1);
Operand dense(const Tensor& tensor, std::int32_t passes = 1);
// The first bytes of `storage`, as many as `like` has.
Operand dense_as(const Storage& storage, const Tensor& like, std::int32_t passes = 1);
// Weights, scales and statistics. Every CTA needs all of them from its start, however few elements it
// computes; sweeping them in lock-step with the activations would delay their faults to the kernel's end.
// Above 256 KiB a CTA walks them panel by panel, and they count as a sweep.
Operand shared(Operand operand);
Operand shared(const Storage& storage);
Operand shared(const Tensor& tensor);
// One CTA per row of the last dimension, two passes: softmax, log-softmax.
Operand rows(Operand operand, std::int64_t columns, DataType type);
Operand rows(const Tensor& tensor, std::int32_t passes = 1);
Operand rows_as(const Storage& storage, const Tensor& like, std::int32_t passes = 1);
// Images (N, C, extents...) as cuDNN's kernels walk them: a CTA per channel (batch normalisation), tiles of pixels and
// channels (convolutions). Tensors without extents are swept.
Operand channels(Operand operand, const Shape& shape, DataType type);
Operand pixels(Operand operand, const Shape& shape, DataType type);
// One 32-byte sector of every row of the last dimension: picking one class per sample.
Operand one_per_row(Operand operand, std::int64_t columns, DataType type);
Operand one_per_row(const Tensor& tensor);
// A fill with wide stores.
Operand wide(Operand operand);
Operand wide(const Tensor& tensor);

class Recorder {
 public:
  struct Options {
    RooflineDevice device;
    DataType type = DataType::Float32;  // of parameters and activations
    TorchVersion torch = TorchVersion::V1_0;
    bool pool_indexes = true;  // that max poolings keep; else their results
  };
  Recorder(Options options, TraceBuilder& trace) : options_(std::move(options)), trace_(trace) {}

  trace::TensorId allocate(std::int64_t bytes, TensorKind kind) { return trace_.allocate(Bytes{bytes}, kind); }
  void free(trace::TensorId storage) {
    if (!closed_) trace_.free(storage);
  }
  // From here on nothing is freed: the process ends.
  void close() { closed_ = true; }

  // Efficiencies and units of a kernel that its class does not say.
  struct Tuning {
    bool tensor_cores = false;
    double compute = 1, bandwidth = 1;
    double at_least = 0;  // s: a chain of dependent steps that neither arithmetic nor memory shows
  };
  // A kernel that reads `reads` and writes `writes`; an operand in both is one that it updates.
  void kernel(std::string_view name, KernelClass kernel_class, double flops, const std::vector<Operand>& reads,
              const std::vector<Operand>& writes, Tuning tuning);
  void kernel(std::string_view name, KernelClass kernel_class, double flops, const std::vector<Operand>& reads,
              const std::vector<Operand>& writes) {
    kernel(name, kernel_class, flops, reads, writes, Tuning{});
  }
  // Copies a batch from pinned host memory.
  void upload(const Tensor& tensor);

  void iteration(int index) {
    trace_.iteration(index);
    layer_ = kNoLayer;
  }
  void phase(std::string_view name) { trace_.phase(name); }

  // What follows belongs to the layer `name`. Autograd comes back to the layer of an operation for its backward.
  void enter(std::string_view name) { enter(trace_.string(name)); }
  void enter(trace::StringIndex layer) {
    if (layer == layer_ || layer == kNoLayer) return;
    layer_ = layer;
    trace_.layer(layer);
  }
  trace::StringIndex layer() const { return layer_; }

  DataType type() const { return options_.type; }
  TorchVersion torch() const { return options_.torch; }
  bool pool_indexes() const { return options_.pool_indexes; }
  // Whether matrix products of the model's type run on tensor cores.
  bool tensor_cores() const { return tensor_cores(options_.type); }
  bool tensor_cores(DataType type) const {
    return type == DataType::Float16 || (type == DataType::BFloat16 && options_.device.bf16_tensor_cores);
  }
  std::int64_t next_sequence() { return sequence_++; }

 private:
  static constexpr trace::StringIndex kNoLayer = -1;

  Options options_;
  TraceBuilder& trace_;
  std::int64_t sequence_ = 0;  // of autograd nodes
  trace::StringIndex layer_ = kNoLayer;
  bool closed_ = false;
};

}  // namespace uvmsim::dnn
