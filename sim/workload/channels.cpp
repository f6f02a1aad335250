#include "workload/channels.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

#include "workload/retarget.h"

namespace uvmsim {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

using Shares = std::vector<double>;

class Channels {
 public:
  Channels(const trace::Trace& trace, const KeptChannels& kept)
      : trace_(trace),
        kept_(kept),
        shares_{Shares(trace.records.size(), 1), Shares(trace.records.size(), 1)},
        known_(trace.records.size()) {}

  RemainingShares run() {
    for (std::size_t i = 0; i < trace_.records.size(); ++i) {
      const trace::Record& record = trace_.records[i];
      if (const auto* alloc = std::get_if<trace::Alloc>(&record)) live_[alloc->tensor] = i;
      if (const auto* free = std::get_if<trace::Free>(&record)) live_.erase(free->tensor);
      if (std::holds_alternative<trace::Iteration>(record)) layer_ = phase_ = {};
      if (const auto* layer = std::get_if<trace::Layer>(&record)) layer_ = string(layer->name);
      if (const auto* phase = std::get_if<trace::Phase>(&record)) phase_ = string(phase->name);
      if (const auto* k = std::get_if<trace::Kernel>(&record)) {
        const Operands operands = operands_of(*k);
        kernel(i, *k, operands);
        shares_.bytes[i] = mean(operands, [](const Operand&) { return true; });
      }
    }
    return std::move(shares_);
  }

 private:
  struct Operand {
    std::size_t alloc = kNone;  // record
    bool reads = false, writes = false;
  };
  using Operands = std::vector<Operand>;

  // What multiplies by a weight.
  struct Product {
    std::size_t weight = kNone;  // record of its allocation
    double in = 1, out = 1;      // shares of its input and output channels
  };

  std::string_view string(trace::StringIndex index) const { return trace_.strings[static_cast<std::size_t>(index)]; }
  const trace::Alloc& alloc(std::size_t record) const { return std::get<trace::Alloc>(trace_.records[record]); }
  bool parameter(std::size_t record) const { return kind(record) == "param"; }
  std::string_view kind(std::size_t record) const {
    const std::vector<std::string>& kinds = trace_.header.kinds;
    return alloc(record).kind < kinds.size() ? std::string_view(kinds[alloc(record).kind]) : std::string_view();
  }

  Operands operands_of(const trace::Kernel& kernel) const {
    Operands operands;
    for (std::uint32_t a = kernel.accesses.first; a < kernel.accesses.first + kernel.accesses.count; ++a) {
      const trace::Access& access = trace_.accesses[a];
      const auto found = live_.find(access.tensor);
      if (found == live_.end()) continue;
      auto operand = std::ranges::find(operands, found->second, &Operand::alloc);
      if (operand == operands.end()) operand = operands.insert(operand, {.alloc = found->second});
      operand->reads |= access.mode != trace::Mode::Write;
      operand->writes |= access.mode != trace::Mode::Read;
    }
    return operands;
  }

  void kernel(std::size_t record, const trace::Kernel& kernel, const Operands& operands) {
    const bool multiplies = multiplies_matrices(kernel_of(string(kernel.name)).kernel_class);
    if (multiplies && phase_ != "backward" && multiply(record, operands)) return;
    if (multiplies && phase_ == "backward" && differentiate(record, operands)) return;
    if (phase_ == "optimizer") follow_parameters(operands);
    carry_over(operands);
    shares_.arithmetic[record] = mean(operands, [](const Operand&) { return true; });
  }

  // Forward. Whether it reads a weight.
  bool multiply(std::size_t record, const Operands& operands) {
    Product p;
    for (const Operand& o : operands)
      if (parameter(o.alloc) && (p.weight == kNone || alloc(o.alloc).bytes > alloc(p.weight).bytes)) p.weight = o.alloc;
    if (p.weight == kNone) return false;
    const bool depthwise = layer_.find("depthwise") != std::string_view::npos;
    p.in = mean_of_inputs(operands);
    p.out = depthwise ? p.in : kept_(layer_);
    shares_.arithmetic[record] = depthwise ? p.in : p.in * p.out;
    set(p.weight, shares_.arithmetic[record]);
    for (const Operand& o : operands)
      if (parameter(o.alloc) || o.writes) set(o.alloc, p.out);
    std::vector<Product>& products = products_[std::string(layer_)];
    if (std::ranges::find(products, p.weight, &Product::weight) == products.end()) products.push_back(p);
    return true;
  }

  // Backward, of a product of the same layer: for its input or for its weight.
  bool differentiate(std::size_t record, const Operands& operands) {
    const auto products = products_.find(layer_);
    if (products == products_.end()) return false;
    for (const Product& p : products->second)
      for (const Operand& o : operands) {
        const bool of_weight = o.writes && kind(o.alloc) != "grad" && alloc(o.alloc).bytes == alloc(p.weight).bytes;
        if (o.alloc != p.weight && !of_weight) continue;
        shares_.arithmetic[record] = shares_.bytes[p.weight];
        for (const Operand& other : operands)
          set(other.alloc, !other.writes ? p.out : of_weight ? shares_.bytes[p.weight] : p.in);
        return true;
      }
    return false;
  }

  // The state of a parameter, and its gradient, have as many bytes as it has.
  void follow_parameters(const Operands& operands) {
    for (const Operand& o : operands) {
      if (known_[o.alloc]) continue;
      const auto same = std::ranges::find_if(
          operands, [&](const Operand& p) { return known_[p.alloc] && alloc(p.alloc).bytes == alloc(o.alloc).bytes; });
      if (same != operands.end()) set(o.alloc, shares_.bytes[same->alloc]);
    }
  }

  void carry_over(const Operands& operands) {
    const bool any = std::ranges::any_of(operands, [&](const Operand& o) { return input(o) && known_[o.alloc]; });
    if (!any) return;
    const double share = mean_of_inputs(operands);
    for (const Operand& o : operands)
      if (o.writes || parameter(o.alloc)) set(o.alloc, share);
  }

  bool input(const Operand& o) const { return o.reads && !parameter(o.alloc); }

  double mean_of_inputs(const Operands& operands) const {
    return mean(operands, [this](const Operand& o) { return input(o); });
  }

  // Of what is left of the operands that `takes` takes, over their bytes.
  template <class Takes>
  double mean(const Operands& operands, Takes&& takes) const {
    double before = 0, after = 0;
    for (const Operand& o : operands) {
      if (!takes(o)) continue;
      before += static_cast<double>(alloc(o.alloc).bytes);
      after += shares_.bytes[o.alloc] * static_cast<double>(alloc(o.alloc).bytes);
    }
    return before > 0 ? after / before : 1;
  }

  // Once: later kernels work on what is left.
  void set(std::size_t record, double share) {
    if (known_[record]) return;
    known_[record] = true;
    shares_.bytes[record] = share;
  }

  const trace::Trace& trace_;
  const KeptChannels& kept_;
  RemainingShares shares_;
  std::vector<bool> known_;                                            // by record
  std::unordered_map<trace::TensorId, std::size_t> live_;              // looked up, never walked
  std::map<std::string, std::vector<Product>, std::less<>> products_;  // by layer
  std::string_view layer_, phase_;
};

}  // namespace

RemainingShares remaining_channels(const trace::Trace& trace, const KeptChannels& kept) {
  return Channels(trace, kept).run();
}

}  // namespace uvmsim
