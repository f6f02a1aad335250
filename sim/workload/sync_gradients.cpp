#include "workload/sync_gradients.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/user_error.h"
#include "trace/without_records.h"
#include "workload/accumulate_gradients.h"
#include "workload/iterations.h"
#include "workload/unused.h"

namespace uvmsim {
namespace {

using trace::TensorId;

constexpr std::int64_t kFirstBucket = 1 << 20;  // PyTorch: kDefaultFirstBucketBytes

class Synchronizer {
 public:
  Synchronizer(const trace::Trace& trace, const GradientSync& options)
      : in_(trace), options_(options), unused_(trace), out_(without_records(trace)) {
    out_.records.reserve(in_.records.size() + in_.records.size() / 64);  // with room for the collectives
  }

  trace::Trace run() {
    std::size_t first = next_iteration(in_, 0);
    for (std::size_t i = 0; i < first; ++i) copy(in_.records[i]);
    for (int n = 1; first < in_.records.size(); ++n) {
      const std::size_t outer = next_iteration(in_, first + 1);
      const bool step = n % options_.every == 0;
      iteration(first, outer, step);
      stepped_ = step;
      first = outer;
    }
    return std::move(out_);
  }

 private:
  // Gradients that are reduced together, and the record that completes them.
  struct Bucket {
    std::vector<TensorId> gradients;
    std::size_t ready = 0;
  };

  [[noreturn]] void refuse(const std::string& key, const std::string& why) const {
    throw UserError(in_.header.name, {{"/workload/" + key, why}});
  }

  void iteration(std::size_t first, std::size_t outer, bool step) {
    const std::size_t optimizer = optimizer_of(in_, first, outer);
    const bool buckets = options_.bucket.value > 0;
    if (optimizer == outer && (buckets || options_.every > 1))
      refuse(buckets ? "sync_bucket" : "sync_every", "an iteration has no phase \"optimizer\"");

    held_ = gradients_;
    std::vector<Bucket> full;
    if (buckets && step) full = buckets_of(first, optimizer);
    auto next = full.begin();
    for (std::size_t i = first; i < optimizer; ++i) {
      if (stepped_ || !zeroes_gradients(in_.records[i])) copy(in_.records[i]);
      for (; next != full.end() && next->ready == i; ++next) reduce(*next);
    }
    if (gradients_.empty()) refuse("sync_gradients", "an iteration has no weight gradient that outlives its kernels");
    if (step) {
      const bool first_reduce = !buckets && frees_gradients(optimizer, outer);
      if (buckets) wait_for_buckets();
      if (first_reduce) reduce_all();
      take_step(optimizer, outer);
      if (!buckets && !first_reduce) reduce_all();
    } else {
      leave_out_step(optimizer, outer);
    }
  }

  // --- the optimizer's step

  void take_step(std::size_t first, std::size_t outer) {
    for (std::size_t i = first; i < outer; ++i) {
      copy(in_.records[i]);
      if (i > first) continue;
      for (const trace::Record& record : postponed_) copy(record);
      postponed_.clear();
    }
  }

  bool frees_gradients(std::size_t first, std::size_t outer) const {
    for (std::size_t i = first; i < outer; ++i)
      if (const auto* free = std::get_if<trace::Free>(&in_.records[i]);
          free != nullptr && gradients_.contains(free->tensor))
        return true;
    return false;
  }

  void leave_out_step(std::size_t first, std::size_t outer) {
    if (frees_gradients(first, outer))
      refuse(
          "sync_every",
          "the phase \"optimizer\" frees weight gradients that its iteration did not make: they are not accumulated");
    std::set<TensorId> made, kept;  // tensors that the step makes, and those of them that outlive it
    for (std::size_t i = first; i < outer; ++i)
      if (const auto* alloc = std::get_if<trace::Alloc>(&in_.records[i])) made.insert(alloc->tensor);
    kept = made;
    for (std::size_t i = first; i < outer; ++i)
      if (const auto* free = std::get_if<trace::Free>(&in_.records[i])) kept.erase(free->tensor);
    for (std::size_t i = first; i < outer; ++i) {
      const trace::Record& record = in_.records[i];
      if (const auto* alloc = std::get_if<trace::Alloc>(&record)) {
        if (kept.contains(alloc->tensor)) postponed_.push_back(record);
      } else if (const auto* kernel = std::get_if<trace::Kernel>(&record)) {
        const auto operands = accesses(kernel->accesses);
        if (std::ranges::all_of(operands, [&](const trace::Access& a) { return kept.contains(a.tensor); }))
          postponed_.push_back(record);
      } else if (const auto* free = std::get_if<trace::Free>(&record)) {
        if (!made.contains(free->tensor)) copy(record);
      } else {
        copy(record);
      }
    }
  }

  bool zeroes_gradients(const trace::Record& record) const {
    const auto* kernel = std::get_if<trace::Kernel>(&record);
    return kernel != nullptr && kernel->accesses.count > 0 &&
           std::ranges::all_of(accesses(kernel->accesses), [this](const trace::Access& a) {
             return a.mode == trace::Mode::Write && held_.contains(a.tensor);
           });
  }

  // --- the collectives

  std::vector<Bucket> buckets_of(std::size_t first, std::size_t outer) const {
    std::map<TensorId, std::int64_t> live = gradients_;
    std::map<TensorId, std::size_t> last_write;
    for (std::size_t i = first; i < outer; ++i) {
      const trace::Record& record = in_.records[i];
      if (const auto* alloc = std::get_if<trace::Alloc>(&record); alloc != nullptr && is_gradient(*alloc))
        live[alloc->tensor] = alloc->bytes;
      if (const auto* free = std::get_if<trace::Free>(&record)) {
        live.erase(free->tensor);
        last_write.erase(free->tensor);
      }
      if (const auto* kernel = std::get_if<trace::Kernel>(&record))
        for (const trace::Access& a : accesses(kernel->accesses))
          if (a.mode != trace::Mode::Read && live.contains(a.tensor)) last_write[a.tensor] = i;
    }
    std::vector<std::pair<std::size_t, TensorId>> order;
    for (const auto& [tensor, written] : last_write) order.emplace_back(written, tensor);
    std::ranges::sort(order);

    std::vector<Bucket> buckets;
    std::int64_t room = 0;
    for (const auto& [written, tensor] : order) {
      if (room <= 0) {
        room = buckets.empty() ? std::min(kFirstBucket, options_.bucket.value) : options_.bucket.value;
        buckets.emplace_back();
      }
      room -= live.at(tensor);
      buckets.back().gradients.push_back(tensor);
      buckets.back().ready = written;
    }
    return buckets;
  }

  // On the communication stream, once the kernel before has run.
  void reduce(const Bucket& bucket) {
    out_.records.emplace_back(trace::EventRecord{.event = unused_.event, .stream = stream_});
    out_.records.emplace_back(trace::EventWait{.event = unused_.event, .stream = unused_.stream});
    all_reduce(bucket.gradients, unused_.stream);
  }

  void wait_for_buckets() {
    const std::int32_t done = unused_.event + 1;
    out_.records.emplace_back(trace::EventRecord{.event = done, .stream = unused_.stream});
    out_.records.emplace_back(trace::EventWait{.event = done, .stream = stream_});
  }

  void reduce_all() {
    std::vector<TensorId> all;
    for (const auto& [tensor, bytes] : gradients_) all.push_back(tensor);
    all_reduce(all, stream_);
  }

  void all_reduce(const std::vector<TensorId>& gradients, std::int32_t stream) {
    trace::CollectiveOp collective{.kind = trace::Collective::AllReduce,
                                   .stream = stream,
                                   .accesses = {.first = static_cast<std::uint32_t>(out_.accesses.size()),
                                                .count = static_cast<std::uint32_t>(gradients.size())},
                                   .device = device_};
    for (const TensorId tensor : gradients) {
      out_.accesses.push_back({.tensor = tensor, .mode = trace::Mode::ReadWrite});
      collective.bytes += gradients_.at(tensor);
    }
    out_.records.emplace_back(collective);
  }

  // --- the trace

  std::span<const trace::Access> accesses(trace::AccessSpan span) const {
    return std::span(in_.accesses).subspan(span.first, span.count);
  }
  bool is_gradient(const trace::Alloc& alloc) const {
    return alloc.kind < in_.header.kinds.size() && in_.header.kinds[alloc.kind] == "wgrad";
  }

  void copy(const trace::Record& record) {
    if (const auto* alloc = std::get_if<trace::Alloc>(&record); alloc != nullptr && is_gradient(*alloc))
      gradients_[alloc->tensor] = alloc->bytes;
    if (const auto* free = std::get_if<trace::Free>(&record)) gradients_.erase(free->tensor);
    if (const auto* kernel = std::get_if<trace::Kernel>(&record)) {
      stream_ = kernel->stream;
      device_ = kernel->device;
    }
    out_.records.push_back(record);
  }

  const trace::Trace& in_;
  const GradientSync options_;
  const Unused unused_;
  trace::Trace out_;
  std::map<TensorId, std::int64_t> gradients_;  // live ones, with their bytes
  std::map<TensorId, std::int64_t> held_;       // the same, when the iteration began
  std::vector<trace::Record> postponed_;        // what steps that were left out would have made for later ones
  std::int32_t stream_ = 0;                     // of the last kernel
  std::int8_t device_ = 0;
  bool stepped_ = true;  // in the iteration before
};

}  // namespace

trace::Trace sync_gradients(const trace::Trace& trace, const GradientSync& options) {
  if (options.every > 1) return Synchronizer(accumulate_gradients(trace, options.every), options).run();
  return Synchronizer(trace, options).run();
}

}  // namespace uvmsim
