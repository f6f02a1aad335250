#include "workload/accumulate_gradients.h"

#include <algorithm>
#include <map>
#include <span>
#include <vector>

#include "base/user_error.h"
#include "trace/visitor.h"
#include "trace/without_records.h"
#include "workload/iterations.h"

namespace uvmsim {
namespace {

using trace::TensorId;

class Accumulator {
 public:
  Accumulator(const trace::Trace& trace, int every) : in_(trace), every_(every), out_(without_records(trace)) {}

  trace::Trace run() {
    std::size_t first = next_iteration(in_, 0);
    out_.records.assign(in_.records.begin(), in_.records.begin() + static_cast<std::ptrdiff_t>(first));
    for (std::size_t i = 0; i < first; ++i) note_size(in_.records[i]);
    for (int n = 0; first < in_.records.size(); ++n) {
      const std::size_t outer = next_iteration(in_, first + 1);
      iteration(first, outer, n % every_);
      first = outer;
    }
    return std::move(out_);
  }

 private:
  // One that an iteration makes and its optimizer frees.
  struct Gradient {
    TensorId tensor = 0;
    std::int64_t bytes = 0;
    std::size_t complete = 0;  // the record of its last use before the optimizer
    std::int64_t sum_ns = 0;
  };

  std::span<const trace::Access> accesses(const trace::Record& record) const {
    const trace::AccessSpan* span = trace::access_span(record);
    if (span == nullptr) return {};
    return std::span(in_.accesses).subspan(span->first, span->count);
  }

  void note_size(const trace::Record& record) {
    if (const auto* alloc = std::get_if<trace::Alloc>(&record)) bytes_[alloc->tensor] = alloc->bytes;
  }

  std::vector<Gradient> gradients(std::size_t first, std::size_t optimizer, std::size_t outer) const {
    std::vector<Gradient> made;
    std::map<TensorId, std::size_t> place;  // in `made`, of those that live
    for (std::size_t i = first; i < optimizer; ++i) {
      const trace::Record& record = in_.records[i];
      if (const auto* alloc = std::get_if<trace::Alloc>(&record);
          alloc != nullptr && alloc->kind < in_.header.kinds.size() && in_.header.kinds[alloc->kind] == "wgrad") {
        place[alloc->tensor] = made.size();
        made.push_back({.tensor = alloc->tensor, .bytes = alloc->bytes, .complete = i});
      }
      if (const auto* free = std::get_if<trace::Free>(&record)) place.erase(free->tensor);
      if (std::holds_alternative<trace::CollectiveOp>(record)) continue;  // of the sum
      for (const trace::Access& a : accesses(record))
        if (const auto found = place.find(a.tensor); found != place.end()) made[found->second].complete = i;
    }
    std::vector<Gradient> freed_by_step;
    for (std::size_t i = optimizer; i < outer; ++i)
      if (const auto* free = std::get_if<trace::Free>(&in_.records[i]); free != nullptr && place.contains(free->tensor))
        freed_by_step.push_back(made[place.at(free->tensor)]);
    std::ranges::sort(freed_by_step, {}, [&](const Gradient& g) { return place.at(g.tensor); });
    for (Gradient& g : freed_by_step) g.sum_ns = sum_time(g, optimizer, outer);
    return freed_by_step;
  }

  // Reads the sum and the gradient, writes the sum.
  std::int64_t sum_time(const Gradient& gradient, std::size_t optimizer, std::size_t outer) const {
    for (std::size_t i = optimizer; i < outer; ++i) {
      const auto* kernel = std::get_if<trace::Kernel>(&in_.records[i]);
      const auto operands = accesses(in_.records[i]);
      if (kernel == nullptr || std::ranges::find(operands, gradient.tensor, &trace::Access::tensor) == operands.end())
        continue;
      double bytes = 0;
      for (const trace::Access& a : operands)
        bytes += static_cast<double>(bytes_.at(a.tensor)) * (a.mode == trace::Mode::ReadWrite ? 2 : 1);
      return static_cast<std::int64_t>(static_cast<double>(kernel->duration_ns) * 3 *
                                       static_cast<double>(gradient.bytes) / std::max(bytes, 1.0));
    }
    return 0;
  }

  void iteration(std::size_t first, std::size_t outer, int nth) {
    for (std::size_t i = first; i < outer; ++i) note_size(in_.records[i]);
    const std::size_t optimizer = optimizer_of(in_, first, outer);
    const std::vector<Gradient> made = gradients(first, optimizer, outer);
    if (nth == 0) sums_ = made;
    if (!std::ranges::equal(made, sums_, {}, &Gradient::bytes, &Gradient::bytes))
      throw UserError(in_.header.name,
                      {{"/workload/sync_every", "iterations make weight gradients of different sizes"}});
    std::multimap<std::size_t, std::size_t> complete;
    for (std::size_t g = 0; g < made.size(); ++g) complete.emplace(made[g].complete, g);
    std::map<TensorId, TensorId> sum_of;
    for (std::size_t g = 0; g < made.size(); ++g) sum_of.emplace(made[g].tensor, sums_[g].tensor);
    for (std::size_t i = first; i < optimizer; ++i) {
      out_.records.push_back(in_.records[i]);
      if (std::holds_alternative<trace::CollectiveOp>(in_.records[i])) rename(out_.records.back(), sum_of);
      if (const auto* kernel = std::get_if<trace::Kernel>(&in_.records[i])) last_ = *kernel;
      const auto [begin, end] = complete.equal_range(i);
      for (auto g = begin; nth > 0 && g != end; ++g) add(made[g->second], sums_[g->second]);
    }
    for (std::size_t i = optimizer; i < outer; ++i) step(in_.records[i], sum_of, nth == every_ - 1);
  }

  void add(const Gradient& gradient, const Gradient& sum) {
    if (name_ < 0) {
      name_ = static_cast<trace::StringIndex>(out_.strings.size());
      out_.strings.emplace_back(kAccumulateKernel);
    }
    const auto first = static_cast<std::uint32_t>(out_.accesses.size());
    out_.accesses.push_back({.tensor = gradient.tensor});
    out_.accesses.push_back({.tensor = sum.tensor, .mode = trace::Mode::ReadWrite});
    out_.records.emplace_back(trace::Kernel{.name = name_,
                                            .stream = last_.stream,
                                            .duration_ns = gradient.sum_ns,
                                            .accesses = {.first = first, .count = 2},
                                            .device = last_.device});
    out_.records.emplace_back(trace::Free{gradient.tensor});
  }

  // A record of the optimizer, with sums for gradients; only the `last` iteration's frees them.
  void step(trace::Record record, const std::map<TensorId, TensorId>& sum_of, bool last) {
    if (auto* free = std::get_if<trace::Free>(&record); free != nullptr && sum_of.contains(free->tensor)) {
      if (!last) return;
      free->tensor = sum_of.at(free->tensor);
    }
    rename(record, sum_of);
    out_.records.push_back(record);
  }

  // Its operands are sums where they were gradients.
  void rename(trace::Record& record, const std::map<TensorId, TensorId>& sum_of) {
    const auto operands = accesses(record);
    if (std::ranges::none_of(operands, [&](const trace::Access& a) { return sum_of.contains(a.tensor); })) return;
    const auto first = static_cast<std::uint32_t>(out_.accesses.size());
    for (trace::Access a : operands) {
      if (const auto sum = sum_of.find(a.tensor); sum != sum_of.end()) a.tensor = sum->second;
      out_.accesses.push_back(a);
    }
    trace::access_span(record)->first = first;
  }

  const trace::Trace& in_;
  const int every_;
  trace::Trace out_;
  trace::StringIndex name_ = -1;            // of the kernels that add; -1: there is none yet
  trace::Kernel last_{};                    // that was copied
  std::map<TensorId, std::int64_t> bytes_;  // of all tensors so far
  std::vector<Gradient> sums_;              // what the first of `every_` iterations made
};

}  // namespace

trace::Trace accumulate_gradients(const trace::Trace& trace, int every) { return Accumulator(trace, every).run(); }

}  // namespace uvmsim
