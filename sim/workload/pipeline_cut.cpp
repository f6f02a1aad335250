#include "workload/pipeline_cut.h"

#include <algorithm>

#include "base/user_error.h"
#include "trace/visitor.h"
#include "workload/iterations.h"

namespace uvmsim {

using trace::TensorId;

void refuse_pipeline(const trace::Trace& trace, const std::string& why) {
  throw UserError(trace.header.name, "pipeline selects nothing: " + why);
}

PipelineCut::PipelineCut(const trace::Trace& trace, const PipelineShape& shape)
    : in_(trace), packs_(static_cast<std::size_t>(shape.stages * shape.packs)), stages_(shape.stages) {
  const std::size_t first = next_iteration(in_, 0);
  pack_of_layers(first, next_iteration(in_, first + 1));
  setup_ = first;
  for (std::size_t begin = first; begin < in_.records.size();) {
    const std::size_t outer = next_iteration(in_, begin + 1);
    split(begin, outer);
    begin = outer;
  }
  if (shape.recompute)
    for (StageTimes& times : times_) times.backward += times.forward;
}

std::span<const trace::Access> PipelineCut::accesses(const trace::Record& record) const {
  const trace::AccessSpan* span = trace::access_span(record);
  return span == nullptr ? std::span<const trace::Access>() : std::span(in_.accesses).subspan(span->first, span->count);
}

void PipelineCut::pack_of_layers(std::size_t first, std::size_t outer) {
  std::vector<Duration> work;
  std::map<std::string_view, std::size_t> place;
  std::string_view layer, phase;
  for (std::size_t i = first; i < outer; ++i) {
    const trace::Record& record = in_.records[i];
    if (const auto* p = std::get_if<trace::Phase>(&record)) phase = text(p->name);
    if (const auto* l = std::get_if<trace::Layer>(&record)) layer = text(l->name);
    const auto* kernel = std::get_if<trace::Kernel>(&record);
    if (kernel == nullptr || layer.empty()) continue;
    if (phase == "forward" && place.try_emplace(layer, work.size()).second) work.emplace_back();
    if ((phase == "forward" || phase == "backward") && place.contains(layer))
      work[place.at(layer)] += nanoseconds(kernel->duration_ns);
  }
  if (work.size() < packs_)
    refuse_pipeline(in_, std::to_string(work.size()) + " layers in a phase \"forward\" make no " +
                             std::to_string(packs_) + (std::cmp_equal(packs_, stages_) ? " stages" : " packs"));
  const std::vector<std::size_t> ends = cut_evenly(work, static_cast<int>(packs_));
  for (const auto& [name, at] : place)
    pack_of_[name] = static_cast<std::size_t>(std::ranges::upper_bound(ends, at) - ends.begin());
  times_.resize(packs_);
}

void PipelineCut::split(std::size_t first, std::size_t outer) {
  const bool measure = micro_batches_.empty();
  PipelineMicroBatch& of = micro_batches_.emplace_back();
  of.forward.resize(packs_);
  of.backward.resize(packs_);
  const std::size_t optimizer = optimizer_of(in_, first, outer);
  std::size_t pack = 0;
  bool backward = false;
  for (std::size_t i = first; i < outer; ++i) {
    const trace::Record& record = in_.records[i];
    if (const auto* phase = std::get_if<trace::Phase>(&record); phase != nullptr && text(phase->name) == "backward")
      backward = true, pack = packs_ - 1;
    if (const auto* layer = std::get_if<trace::Layer>(&record))
      if (const auto at = pack_of_.find(text(layer->name)); at != pack_of_.end() && i < optimizer)
        pack = backward ? std::min(pack, at->second) : std::max(pack, at->second);
    if (std::holds_alternative<trace::Synchronize>(record) || std::holds_alternative<trace::Iteration>(record) ||
        std::holds_alternative<trace::Phase>(record))
      continue;
    if (const auto* alloc = std::get_if<trace::Alloc>(&record)) made_in_[alloc->tensor] = micro_batches_.size();
    if (i >= optimizer || frees_of_another(record)) {
      of.step.push_back(i);
      continue;
    }
    (backward ? of.backward : of.forward)[pack].records.push_back(i);
    if (const auto* free = std::get_if<trace::Free>(&record)) of.freed.insert(free->tensor);
    for (const trace::Access& access : accesses(record)) home_.try_emplace(access.tensor, static_cast<int>(pack));
    if (const auto* kernel = std::get_if<trace::Kernel>(&record); kernel != nullptr && measure)
      (backward ? times_[pack].backward : times_[pack].forward) += nanoseconds(kernel->duration_ns);
  }
  if (!backward) refuse_pipeline(in_, "an iteration has no phase \"backward\"");
  for (const std::size_t i : of.step) settle_step(in_.records[i]);
  find_sends(of);
}

bool PipelineCut::frees_of_another(const trace::Record& record) const {
  const auto* free = std::get_if<trace::Free>(&record);
  if (free == nullptr) return false;
  const auto made = made_in_.find(free->tensor);
  return made == made_in_.end() || made->second != micro_batches_.size();
}

void PipelineCut::settle_step(const trace::Record& record) {
  const auto operands = accesses(record);
  const auto known = std::ranges::find_if(operands, [&](const auto& a) { return home_.contains(a.tensor); });
  if (known == operands.end()) return;
  for (const trace::Access& a : operands) home_.try_emplace(a.tensor, home_.at(known->tensor));
}

void PipelineCut::find_sends(PipelineMicroBatch& of) {
  struct Copies {
    PipelineChunk* maker = nullptr;
    std::set<int> at;  // stages
  };
  std::map<TensorId, Copies> made;
  const auto visit = [&](PipelineChunk& chunk, std::size_t pack) {
    const int stage = static_cast<int>(pack) % stages_;
    for (const std::size_t i : chunk.records)
      for (const trace::Access& access : accesses(in_.records[i])) {
        Copies& copies = made[access.tensor];
        if (access.mode != trace::Mode::Write && copies.maker != nullptr && copies.at.insert(stage).second)
          copies.maker->sends.emplace_back(access.tensor, stage);
        if (access.mode != trace::Mode::Read) copies = {&chunk, {stage}};
      }
  };
  for (std::size_t p = 0; p < packs_; ++p) visit(of.forward[p], p);
  for (std::size_t p = packs_; p-- > 0;) visit(of.backward[p], p);
}

}  // namespace uvmsim
