#include "workload/generators/dnn/recorder.h"

#include <algorithm>

#include "trace/format.h"
#include "workload/generators/dnn/tensor.h"

namespace uvmsim::dnn {

std::int64_t Operand::bytes() const {
  if (pattern == trace::Pattern::Strided) return std::min(length, options.width * (length / options.stride));
  if (pattern == trace::Pattern::Random) return std::min(length, options.width * options.count);
  return length * passes;
}

Operand dense(const Storage& storage, std::int32_t passes) {
  return {.storage = storage.id(), .length = storage.bytes(), .passes = passes};
}

Operand dense_as(const Storage& storage, const Tensor& like, std::int32_t passes) {
  Operand operand = dense(storage, passes);
  operand.length = std::min(like.bytes(), storage.bytes());
  operand.whole = operand.length == storage.bytes();
  return operand;
}

Operand dense(const Tensor& tensor, std::int32_t passes) {
  Operand operand = dense_as(*tensor.storage(), tensor, passes);
  operand.offset = tensor.offset();
  return operand;
}

Operand shared(Operand operand) {
  constexpr std::int64_t kShared = 256 << 10;
  if (operand.length <= kShared) operand.pattern = trace::Pattern::Broadcast;
  return operand;
}

Operand shared(const Storage& storage) { return shared(dense(storage)); }

Operand shared(const Tensor& tensor) { return shared(*tensor.storage()); }

Operand rows(Operand operand, std::int64_t columns, DataType type) {
  operand.pattern = trace::Pattern::Rows;
  operand.options = {.rows = operand.length / (columns * size_of(type)),
                     .columns = columns,
                     .leading_dimension = columns * size_of(type),
                     .element_bytes = size_of(type)};
  return operand;
}

Operand rows_as(const Storage& storage, const Tensor& like, std::int32_t passes) {
  return rows(dense_as(storage, like, passes), like.shape().back(), like.type());
}

Operand rows(const Tensor& tensor, std::int32_t passes) {
  Operand operand = rows_as(*tensor.storage(), tensor, passes);
  operand.offset = tensor.offset();
  return operand;
}

namespace {

Operand images(Operand operand, trace::Pattern pattern, const Shape& shape, DataType type) {
  if (shape.size() < 3) return operand;
  std::int64_t plane = size_of(type);
  for (std::size_t d = 2; d < shape.size(); ++d) plane *= shape[d];
  operand.pattern = pattern;
  operand.options = {.element_bytes = size_of(type), .stride = plane, .count = shape[1]};
  return operand;
}

}  // namespace

Operand channels(Operand operand, const Shape& shape, DataType type) {
  return images(std::move(operand), trace::Pattern::Channels, shape, type);
}

Operand pixels(Operand operand, const Shape& shape, DataType type) {
  return images(std::move(operand), trace::Pattern::Pixels, shape, type);
}

Operand one_per_row(Operand operand, std::int64_t columns, DataType type) {
  operand.pattern = trace::Pattern::Strided;
  operand.options = {.width = 32, .stride = columns * size_of(type)};
  return operand;
}

Operand one_per_row(const Tensor& tensor) { return one_per_row(dense(tensor), tensor.shape().back(), tensor.type()); }

Operand wide(Operand operand) {
  operand.pattern = trace::Pattern::Wide;
  return operand;
}

Operand wide(const Tensor& tensor) { return wide(dense(tensor)); }

namespace {

bool is_read_of(const trace::Access& a, const trace::Access& b) {
  return a.mode == trace::Mode::Read && a.tensor == b.tensor && a.pattern == b.pattern && a.passes == b.passes &&
         a.offset == b.offset && a.length == b.length;
}

}  // namespace

void Recorder::kernel(std::string_view name, KernelClass kernel_class, double flops, const std::vector<Operand>& reads,
                      const std::vector<Operand>& writes, Tuning tuning) {
  std::vector<trace::Access> accesses;
  std::int64_t bytes = 0;
  const auto add = [&](const Operand& operand, trace::Mode mode) {
    bytes += operand.bytes();
    trace::Access access{.tensor = operand.storage,
                         .mode = mode,
                         .pattern = operand.pattern,
                         .passes = operand.passes,
                         .offset = operand.offset,
                         .length = operand.whole ? -1 : operand.length};
    const auto read = std::ranges::find_if(accesses, [&](const trace::Access& a) { return is_read_of(a, access); });
    if (mode == trace::Mode::Write && read != accesses.end()) {
      read->mode = trace::Mode::ReadWrite;
      return;
    }
    trace::PatternOptions options = operand.options;
    const bool is_product = operand.pattern == trace::Pattern::Tile && options.width == 0;
    if (is_product && mode == trace::Mode::Write) options.count = options_.device.tile_group;
    if (options != trace::PatternOptions{}) access.options = trace_.options(std::move(options));
    accesses.push_back(access);
  };
  for (const Operand& operand : reads) add(operand, trace::Mode::Read);
  for (const Operand& operand : writes) add(operand, trace::Mode::Write);

  const double roofline = roofline_seconds(options_.device, {.kernel_class = kernel_class,
                                                             .flops = flops,
                                                             .bytes = bytes,
                                                             .tensor_cores = tuning.tensor_cores,
                                                             .compute_efficiency = tuning.compute,
                                                             .bandwidth_efficiency = tuning.bandwidth});
  trace::Kernel kernel;
  const double most = static_cast<double>(trace::kMostNanoseconds) * 2;  // refused, as all that is more
  kernel.duration_ns = static_cast<std::int64_t>(std::min(std::max(roofline, tuning.at_least) * 1e9, most));
  kernel.flops = flops;
  trace_.kernel(name, kernel, accesses);
}

void Recorder::upload(const Tensor& tensor) {
  trace::Copy copy;
  copy.bytes = tensor.bytes();
  trace_.copy(copy, {writes(tensor.storage()->id())});
}

}  // namespace uvmsim::dnn
