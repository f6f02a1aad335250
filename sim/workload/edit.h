// What transforms are made of: kernels of a trace are selected, scaled, removed and fused, and records inserted.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/describe.h"
#include "trace/record.h"
#include "workload/generators/dnn/roofline.h"

namespace uvmsim {

// A kernel and where it stands.
struct KernelPlace {
  std::size_t record = 0;  // into Trace::records
  std::string_view name, phase, layer;
  std::size_t iteration = 0;                                    // Iteration records before it; 0: set-up
  dnn::KernelClass kernel_class = dnn::KernelClass::Pointwise;  // by its name (retarget.h)
};

using KernelFilter = std::function<bool(const KernelPlace&)>;

// The kernels that `filter` takes, in order. Names are `trace`'s: keep it.
std::vector<KernelPlace> select(const trace::Trace& trace, const KernelFilter& filter);

// Multiplies the durations of the kernel `record`, its variants' included, by `factor`; rounded to nanoseconds.
void scale(trace::Trace& trace, std::size_t record, double factor);

// Takes the records out. Each once, in any order.
void remove(trace::Trace& trace, std::vector<std::size_t> records);

// Puts each record before the one of that index, in their order there.
void insert(trace::Trace& trace, std::vector<std::pair<std::size_t, trace::Record>> records);

// Puts each record, the first of a pair, before the one that the second stands for in the trace as it is; those with
// the same one in their order here. Returns where each record is now.
std::vector<std::size_t> move(trace::Trace& trace, std::vector<std::pair<std::size_t, std::size_t>> records);

// Makes one kernel of the kernels `records`, ascending, in the place of the last: it takes `duration_ns` and has the
// operands of all, but for those that are freed before it. What one writes first and another reads is only written.
void fuse(trace::Trace& trace, const std::vector<std::vector<std::size_t>>& groups,
          const std::vector<std::int64_t>& duration_ns);

// Of a tensor, by the name of its kind and the layer that makes it.
using TensorFilter = std::function<bool(std::string_view kind, std::string_view layer)>;

// Multiplies the bytes of the tensors that `filter` takes, of what is touched of them and of copies and collectives of
// nothing else by `factor`, at most 1. Returns how many there were. UserError where a pattern lists places in them.
std::int64_t scale_tensors(trace::Trace& trace, const TensorFilter& filter, double factor);

// The same with the factor of each tensor, by the record that allocates it too; 1: it stays. Copies and collectives go
// by the largest of their operands.
using TensorFactor = std::function<double(std::size_t record, std::string_view kind, std::string_view layer)>;
void scale_tensors(trace::Trace& trace, const TensorFactor& factor);

// Kernels by parts of names; "": any.
struct KernelSelection {
  std::string kernel, layer, phase;

  bool takes(const KernelPlace& place) const;
  // UserError of the transform `name` when nothing is given: all kernels are rarely meant.
  void require(const std::string& name) const;
  static const Description& description();
};

// What the roofline of the header's first GPU gives for so much, for ratios: by the bytes alone without a GPU there.
double roofline_time(const trace::Header& header, std::int64_t bytes, double flops);

// Multiplies the duration of each kernel by the roofline_time of its operands and arithmetic, over that of the same
// record of `before`.
void scale_by_roofline(const trace::Trace& before, trace::Trace& trace);

// The header says what was done to the trace.
void note_transform(trace::Trace& trace, const std::string& what);

}  // namespace uvmsim
