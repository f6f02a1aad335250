// How the program of one GPU is cut into the packs of a pipeline.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/record.h"
#include "workload/pipeline.h"

namespace uvmsim {

// UserError named after the trace: "pipeline selects nothing", and why.
[[noreturn]] void refuse_pipeline(const trace::Trace& trace, const std::string& why);

// What each pack does of each micro-batch: indices of records.
struct PipelineChunk {
  std::vector<std::size_t> records;
  std::vector<std::pair<trace::TensorId, int>> sends;  // made here, and to which stage
};
struct PipelineMicroBatch {
  std::vector<PipelineChunk> forward, backward;  // by pack
  std::vector<std::size_t> step;
  std::set<trace::TensorId> freed;  // that were made for it alone
};

// Cuts a trace whose iterations are micro-batches, which has to outlive this.
class PipelineCut {
 public:
  PipelineCut(const trace::Trace& trace, const PipelineShape& shape);

  std::size_t setup() const { return setup_; }
  const std::vector<PipelineMicroBatch>& micro_batches() const { return micro_batches_; }
  const std::vector<StageTimes>& times() const { return times_; }
  // The pack of the first kernel that uses the tensor; 0 where none does.
  int home(trace::TensorId tensor) const { return home_.contains(tensor) ? home_.at(tensor) : 0; }

  std::span<const trace::Access> accesses(const trace::Record& record) const;

 private:
  std::string_view text(trace::StringIndex index) const { return in_.strings[static_cast<std::size_t>(index)]; }

  // Layers in the order of the forward pass, cut by the time of their forward and backward kernels.
  void pack_of_layers(std::size_t first, std::size_t outer);

  // Forward goes from the first pack to the last, backward back: a layer that turns up again stays where it is.
  void split(std::size_t first, std::size_t outer);

  // Another micro-batch may still need it when this one comes to free it.
  bool frees_of_another(const trace::Record& record) const;

  // Tensors that only the step knows are where the first of its kernel's others is.
  void settle_step(const trace::Record& record);

  // What was made on a stage for this micro-batch and is read on another one.
  void find_sends(PipelineMicroBatch& of);

  const trace::Trace& in_;
  const std::size_t packs_;
  const int stages_;
  std::size_t setup_ = 0;
  std::map<std::string_view, std::size_t> pack_of_;
  std::map<trace::TensorId, int> home_;
  std::map<trace::TensorId, std::size_t> made_in_;  // which micro-batch, counted from 1
  std::vector<StageTimes> times_;
  std::vector<PipelineMicroBatch> micro_batches_;
};

}  // namespace uvmsim
