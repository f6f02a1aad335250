#include "workload/parallel_products.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/user_error.h"
#include "trace/visitor.h"
#include "workload/retarget.h"

namespace uvmsim {
namespace {

using trace::Mode;
using trace::TensorId;

// What records do to each tensor, in order.
class History {
 public:
  enum class Event : std::uint8_t { Made, Read, Written, Freed };

  explicit History(const trace::Trace& trace) {
    for (std::size_t i = 0; i < trace.records.size(); ++i) {
      const trace::Record& record = trace.records[i];
      if (const auto* alloc = std::get_if<trace::Alloc>(&record)) add(alloc->tensor, i, Event::Made);
      if (const auto* free = std::get_if<trace::Free>(&record)) add(free->tensor, i, Event::Freed);
      if (const auto* call = std::get_if<trace::Prefetch>(&record)) add(call->tensor, i, Event::Written);
      if (const auto* call = std::get_if<trace::Discard>(&record)) add(call->tensor, i, Event::Written);
      if (const auto* call = std::get_if<trace::Advise>(&record)) add(call->tensor, i, Event::Written);
      const trace::AccessSpan* span = trace::access_span(record);
      if (span == nullptr) continue;
      for (const trace::Access& a : std::span(trace.accesses).subspan(span->first, span->count))
        add(a.tensor, i, a.mode == Mode::Read ? Event::Read : Event::Written);
    }
  }

  struct Entry {
    std::size_t record = 0;
    Event event = Event::Read;
  };
  // Of the records [first, outer).
  std::span<const Entry> of(TensorId tensor, std::size_t first, std::size_t outer) const {
    const std::vector<Entry>& all = at_.at(tensor);
    const auto from = std::ranges::lower_bound(all, first, {}, &Entry::record);
    return {from, std::ranges::lower_bound(from, all.end(), outer, {}, &Entry::record)};
  }
  // From where the tensor that the record uses is allocated to where it is freed; without where it is not.
  std::span<const Entry> around(TensorId tensor, std::size_t record) const {
    const std::vector<Entry>& all = at_.at(tensor);
    auto first = std::ranges::lower_bound(all, record, {}, &Entry::record), outer = first;
    while (first != all.begin() && first->event != Event::Made) --first;
    while (outer != all.end() && (outer++)->event != Event::Freed) continue;
    return {first, outer};
  }

 private:
  void add(TensorId tensor, std::size_t record, Event event) { at_[tensor].push_back({record, event}); }

  std::unordered_map<TensorId, std::vector<Entry>> at_;  // looked up, never walked
};

// A kernel that adds a tensor to another one, which was made for nothing else.
struct Addition {
  TensorId sum = -1, term = -1;
  std::size_t record = 0;
  std::vector<std::size_t> life = {};  // records that allocate and free the term
};

// A product with a weight, or a gradient of one.
struct Product {
  std::size_t record = 0;
  std::vector<trace::Access> operands;
  Mode weight_mode = Mode::Read;
  double taps = 1;                      // of its window, by the name of a convolution
  std::int64_t weight = 0, others = 0;  // bytes of its operands
  // What others may share with it, with its bytes: inputs that are no weights, or the sum that its result is added to.
  std::map<TensorId, std::int64_t> shared = {};
  std::optional<Addition> added = {};
};

// "conv2d_k3_fwd" without its size, 3.
struct SizedName {
  std::string name;
  int size = 1;

  explicit SizedName(std::string_view full) : name(full) {
    const std::size_t at = full.find("conv2d_k");
    if (at == std::string_view::npos) return;
    const std::size_t digits = at + 8, end = std::min(full.find_first_not_of("0123456789", digits), full.size());
    if (end == digits || end > digits + 2) return;
    size = std::stoi(name.substr(digits, end - digits));
    name.erase(digits, end - digits);
  }
};

// Products of the same weight's shape, but for the size of their windows, do as much with each of its elements: their
// images are of one size.
bool alike(const Product& a, const Product& b, std::int64_t shared) {
  return a.weight_mode == b.weight_mode && a.added.has_value() == b.added.has_value() &&
         static_cast<double>(a.others - shared) * static_cast<double>(b.weight) * a.taps ==
             static_cast<double>(b.others - shared) * static_cast<double>(a.weight) * b.taps;
}

// Substitutes parallel products, of one name, device and stream: those that read one tensor, and those whose results
// are added up, as the gradients of one input are.
class Substitution {
 public:
  Substitution(trace::Trace& trace, const ParallelProducts& options)
      : trace_(trace), options_(options), history_(trace) {}

  // Why there was not.
  std::string why_not() const {
    return groups_seen_ > 0 ? "no two products of the same shape and name read one tensor"
                            : "of no product the trace says which weight it uses; scale_kernels and remove_kernels "
                              "substitute kernels by their names";
  }

  // Whether there was anything to fuse.
  bool run() {
    find();
    groups_seen_ = groups_.size();
    std::erase_if(groups_, [](const Group& group) { return group.products.size() < 2; });
    if (groups_.empty()) return false;
    std::vector<std::int64_t> durations;
    for (const Group& group : groups_) {
      enlarge(group);
      durations.push_back(duration_of(group));
    }
    const std::vector<std::size_t> left_out = leave_out_sums();
    const std::vector<std::size_t> places = move(trace_, gathered());
    std::vector<std::size_t> gone;
    for (const std::size_t record : left_out) gone.push_back(places[record]);
    std::ranges::sort(gone);
    std::vector<std::vector<std::size_t>> records;
    for (const Group& group : groups_) {
      std::vector<std::size_t>& of = records.emplace_back();
      for (const Product& product : group.products) {
        const std::size_t place = places[product.record];
        of.push_back(place - static_cast<std::size_t>(std::ranges::lower_bound(gone, place) - gone.begin()));
      }
    }
    remove(trace_, std::move(gone));
    fuse(trace_, records, durations);
    return true;
  }

 private:
  // In the order of the trace. Forward they run where the first one does, as others wait for their results; backward
  // where the last one does, as they wait for others'.
  struct Group {
    bool backward = false;
    TensorId shared = -1;  // -1: not known before the second
    std::int64_t shared_bytes = 0;
    std::vector<Product> products;
  };
  // Kernel name, iteration, device, stream, what its stream has waited for or told others, and what is shared.
  using Key = std::tuple<std::string, std::size_t, int, std::int32_t, int, TensorId>;

  void find() {
    const std::vector<KernelPlace> kernels = select(trace_, [this](const KernelPlace& k) {
      return multiplies_matrices(k.kernel_class) && options_.select.takes(k);
    });
    auto next = kernels.begin();
    for (std::size_t i = 0; i < trace_.records.size() && next != kernels.end(); ++i) {
      follow(trace_.records[i]);
      if (next->record != i) continue;
      const SizedName sized(next->name);
      if (const auto product = product_of(i, sized.size))
        join(options_.enlarge ? sized.name : std::string(next->name), *next, *product);
      ++next;
    }
  }

  void follow(const trace::Record& record) {
    if (const auto* alloc = std::get_if<trace::Alloc>(&record)) live_[alloc->tensor] = *alloc;
    if (const auto* event = std::get_if<trace::EventRecord>(&record)) ++epoch_[event->stream];
    if (const auto* event = std::get_if<trace::EventWait>(&record)) ++epoch_[event->stream];
    if (std::holds_alternative<trace::Synchronize>(record)) ++synchronized_;
  }

  std::optional<Product> product_of(std::size_t record, int size) const {
    const auto& kernel = std::get<trace::Kernel>(trace_.records[record]);
    Product product{.record = record, .operands = {}, .taps = static_cast<double>(size) * size};
    for (const trace::Access& a : std::span(trace_.accesses).subspan(kernel.accesses.first, kernel.accesses.count)) {
      const trace::Alloc& tensor = live_.at(a.tensor);
      const std::string_view kind = tensor.kind < trace_.header.kinds.size() ? trace_.header.kinds[tensor.kind] : "";
      const std::int64_t bytes = a.passes * (a.length >= 0 ? a.length : tensor.bytes - a.offset);
      const bool weight = kind == "param" || kind == "wgrad";
      (weight ? product.weight : product.others) += bytes;
      if (weight) product.weight_mode = a.mode;
      if (!weight && a.mode == Mode::Read) product.shared[a.tensor] = bytes;
      product.operands.push_back(a);
    }
    if (const auto added = addition_of(product)) {
      product.shared = {{added->sum, live_.at(added->term).bytes}};
      product.added = added;
      std::erase_if(product.operands, [&](const trace::Access& a) { return a.tensor == added->term; });
    }
    return product.weight > 0 ? std::optional(product) : std::nullopt;
  }

  // What becomes of the gradient that a product with a weight makes.
  std::optional<Addition> addition_of(const Product& product) const {
    if (product.weight_mode != Mode::Read) return std::nullopt;
    for (const trace::Access& a : product.operands) {
      if (a.mode != Mode::Write) continue;
      const auto life = history_.around(a.tensor, product.record);
      using Event = History::Event;
      const Event expected[] = {Event::Made, Event::Written, Event::Read, Event::Freed};
      if (!std::ranges::equal(life, expected, {}, &History::Entry::event)) continue;
      const TensorId sum = sum_of(life[2].record, a.tensor);
      if (sum >= 0) return Addition{sum, a.tensor, life[2].record, {life[0].record, life[3].record}};
    }
    return std::nullopt;
  }

  // The tensor to which the record adds `term`, and -1 when it does anything else.
  TensorId sum_of(std::size_t record, TensorId term) const {
    const auto* kernel = std::get_if<trace::Kernel>(&trace_.records[record]);
    if (kernel == nullptr || kernel->accesses.count != 2) return -1;
    if (trace_.strings[static_cast<std::size_t>(kernel->name)].find("add") == std::string::npos) return -1;
    const trace::Access &a = trace_.accesses[kernel->accesses.first], &b = trace_.accesses[kernel->accesses.first + 1];
    if (a.mode == Mode::ReadWrite && b.mode == Mode::Read && (term < 0 || b.tensor == term)) return a.tensor;
    return -1;
  }

  // Whether all that happens to the sum between two additions is others.
  bool only_added_to(const Addition& from, const Addition& to) const {
    return std::ranges::all_of(history_.of(from.sum, from.record, to.record),
                               [&](const History::Entry& entry) { return sum_of(entry.record, -1) == from.sum; });
  }

  void join(const std::string& name, const KernelPlace& place, const Product& product) {
    const auto& kernel = std::get<trace::Kernel>(trace_.records[product.record]);
    const auto key = [&](TensorId shared) {
      return Key{name, place.iteration, kernel.device, kernel.stream, epoch_[kernel.stream] + synchronized_, shared};
    };
    for (const auto& [shared, bytes] : product.shared) {
      const auto known = open_.find(key(shared));
      if (known != open_.end() && join(groups_[known->second], shared, bytes, product)) return;
    }
    for (const auto& [shared, bytes] : product.shared) open_[key(shared)] = groups_.size();
    groups_.push_back({.backward = place.phase == "backward" || product.added || product.weight_mode != Mode::Read,
                       .products = {product}});
  }

  bool join(Group& group, TensorId shared, std::int64_t bytes, const Product& product) const {
    if (group.shared >= 0 && group.shared != shared) return false;
    if (!alike(group.products.front(), product, bytes)) return false;
    const std::size_t first = group.products.front().record;
    const bool fits =
        group.backward ? std::ranges::all_of(group.products, [&](const Product& p) { return waits(p, product.record); })
                       : may_come_forward(product, first);
    if (!fits || (product.added && !only_added_to(*group.products.front().added, *product.added))) return false;
    group.shared = shared;
    group.shared_bytes = bytes;
    group.products.push_back(product);
    return true;
  }

  // Whether the product may run as soon as the record `to` does, if its results are allocated by then.
  bool may_come_forward(const Product& product, std::size_t to) const {
    return std::ranges::all_of(product.operands, [&](const trace::Access& a) {
      return std::ranges::all_of(history_.of(a.tensor, to, product.record), [&](const History::Entry& entry) {
        return entry.event == (a.mode == Mode::Read ? History::Event::Read : History::Event::Made);
      });
    });
  }

  // Whether the product may run no sooner than the record `to`, if what it reads is not freed before.
  bool waits(const Product& product, std::size_t to) const {
    return std::ranges::all_of(product.operands, [&](const trace::Access& a) {
      return std::ranges::all_of(history_.of(a.tensor, product.record + 1, to + 1), [&](const History::Entry& entry) {
        return a.mode == Mode::Read && (entry.event == History::Event::Read || entry.event == History::Event::Freed);
      });
    });
  }

  static double most_taps(const Group& group) {
    return std::ranges::max_element(group.products, {}, &Product::taps)->taps;
  }

  // Their windows as large as the largest one.
  void enlarge(const Group& group) {
    for (const Product& product : group.products)
      std::get<trace::Kernel>(trace_.records[product.record]).flops *= most_taps(group) / product.taps;
  }

  // Of what is enlarged already.
  std::int64_t duration_of(const Group& group) const {
    const double taps = most_taps(group);
    double sum = 0, apart = 0, flops = 0;
    std::int64_t bytes = group.shared_bytes, longest = 0;
    for (const Product& product : group.products) {
      const auto& kernel = std::get<trace::Kernel>(trace_.records[product.record]);
      sum += static_cast<double>(kernel.duration_ns);
      longest = std::max(longest, kernel.duration_ns);
      apart += roofline_time(trace_.header, product.weight + product.others, kernel.flops * product.taps / taps);
      bytes += product.others - group.shared_bytes;
      bytes += static_cast<std::int64_t>(static_cast<double>(product.weight) * taps / product.taps);
      flops += kernel.flops;
    }
    if (options_.ratio > 0) return static_cast<std::int64_t>(sum * options_.ratio);
    const double ratio = roofline_time(trace_.header, bytes, flops) / apart;
    return std::max(longest, static_cast<std::int64_t>(sum * ratio));
  }

  // The last product of a group makes the whole sum of gradients: the additions of the others are left out, with what
  // they add. Returns their records.
  std::vector<std::size_t> leave_out_sums() {
    std::vector<std::size_t> gone;
    for (const Group& group : groups_) {
      if (!group.products.front().added) continue;
      for (const Product& product : std::span(group.products).first(group.products.size() - 1)) {
        auto& kernel = std::get<trace::Kernel>(trace_.records[product.record]);
        kernel.accesses = {static_cast<std::uint32_t>(trace_.accesses.size()),
                           static_cast<std::uint32_t>(product.operands.size())};
        trace_.accesses.insert(trace_.accesses.end(), product.operands.begin(), product.operands.end());
        gone.push_back(product.added->record);
        gone.insert(gone.end(), product.added->life.begin(), product.added->life.end());
      }
    }
    return gone;
  }

  // Which records go before which, so that the products of a group follow each other, what they make is allocated
  // before them, and what they read is freed after them.
  std::vector<std::pair<std::size_t, std::size_t>> gathered() const {
    std::map<std::size_t, std::size_t> to;
    for (const Group& group : groups_) {
      const std::size_t first = group.products.front().record, last = group.products.back().record;
      for (const Product& product : group.products) {
        if (product.record != (group.backward ? last : first)) to[product.record] = group.backward ? last : first + 1;
        for (const trace::Access& a : product.operands)
          for (const History::Entry& entry : history_.of(a.tensor, first, last)) {
            if (!group.backward && entry.record < product.record && entry.event == History::Event::Made)
              to[entry.record] = first;
            if (group.backward && entry.record > product.record && entry.event == History::Event::Freed)
              to[entry.record] = std::max(to[entry.record], last + 1);
          }
      }
    }
    return {to.begin(), to.end()};
  }

  trace::Trace& trace_;
  const ParallelProducts& options_;
  const History history_;
  std::unordered_map<TensorId, trace::Alloc> live_;
  std::map<std::int32_t, int> epoch_;  // events of each stream
  int synchronized_ = 0;
  std::map<Key, std::size_t> open_;  // into groups_
  std::vector<Group> groups_;
  std::size_t groups_seen_ = 0;  // of one product, too
};

}  // namespace

const Description& ParallelProducts::description() {
  static const Description d =
      Describe<ParallelProducts>("metaflow: parallel products of one input as one kernel")
          .part(&ParallelProducts::select, KernelSelection::description())
          .number("ratio", &ParallelProducts::ratio,
                  "what a fused kernel takes, in times of what its kernels took together; 0: by the roofline of the "
                  "trace's GPU, with their input read once",
                  {0, 1})
          .flag("enlarge", &ParallelProducts::enlarge,
                "also convolutions of different sizes, as 1x1 and 3x3: the smaller ones get the largest one's size, "
                "with zeros around theirs, and as much more arithmetic; their weights' memory stays")
          .build();
  return d;
}

trace::Trace fuse_parallel_products(trace::Trace trace, const ParallelProducts& which, const std::string& name) {
  if (Substitution substitution(trace, which); !substitution.run())
    throw UserError(trace.header.name, name + " selects nothing: " + substitution.why_not());
  return trace;
}

}  // namespace uvmsim
