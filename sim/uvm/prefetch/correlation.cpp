#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "uvm/prefetch/density.h"

namespace uvmsim {
namespace {

struct CorrelationOptions {
  int rows = 2048;
  int ways = 2;
  int successors = 4;
  int degree = 8;
  Duration lookup = microseconds(1);
  static const Description& description() {
    using O = CorrelationOptions;
    static const Description d =
        Describe<O>("correlation: DeepUM's tables")
            .integer("rows", &O::rows, "rows of a block table, one table per execution id", {1, 1 << 20}, "rows")
            .integer("ways", &O::ways, "blocks that share a row", {1, 64}, "blocks")
            .integer("successors", &O::successors, "blocks remembered to follow a block, latest first", {1, 64},
                     "blocks")
            .integer("degree", &O::degree, "kernels it runs ahead of the current one", {0, 1024}, "kernels")
            .duration("lookup", &O::lookup, "CPU time of finding one block in the tables (assumed)")
            .build();
    return d;
  }
};

// Which block follows which among the faults of one kernel: rows of `ways` blocks, latest first.
class BlockTable {
 public:
  void follow(FrameName block, FrameName by, const CorrelationOptions& options) {
    std::vector<FrameName>& after = entry(block, options).successors;
    std::erase(after, by);
    after.insert(after.begin(), by);
    if (after.size() > static_cast<std::size_t>(options.successors)) after.pop_back();
  }
  void add(FrameName block, const CorrelationOptions& options) { entry(block, options); }
  const std::vector<FrameName>* successors(FrameName block, const CorrelationOptions& options) const {
    const auto row = rows_.find(row_of(block, options));
    if (row == rows_.end()) return nullptr;
    for (const Entry& e : row->second)
      if (e.block == block) return &e.successors;
    return nullptr;
  }

  std::optional<FrameName> start, end;  // the first and the last block that faulted when the kernel ran last

 private:
  struct Entry {
    FrameName block;
    std::vector<FrameName> successors;
  };
  static std::uint32_t row_of(FrameName block, const CorrelationOptions& options) {
    return block.frame.value % static_cast<std::uint32_t>(options.rows);
  }
  Entry& entry(FrameName block, const CorrelationOptions& options) {
    std::vector<Entry>& row = rows_[row_of(block, options)];
    for (std::size_t i = 0; i < row.size(); ++i)
      if (row[i].block == block) {
        std::rotate(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(i),
                    row.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        return row.front();
      }
    row.insert(row.begin(), Entry{block, {}});
    if (row.size() > static_cast<std::size_t>(options.ways)) row.pop_back();
    return row.front();
  }

  std::map<std::uint32_t, std::vector<Entry>> rows_;
};

// DeepUM: kernels are known by execution ids, and the faults of each are learned. A fault starts a chain through the
// blocks that followed it last time; at the kernel's last block the chain goes on with the kernel that followed the
// last three, and so on, up to `degree` kernels ahead. Inside a block the driver's own tree works as ever.
class Correlation final : public PrefetchPolicy {
 public:
  using Options = CorrelationOptions;
  Correlation(const DriverConfig& config, const DriverTraits& traits, const CorrelationOptions& options)
      : rules_(density_rules(config, traits)), options_(options) {}
  PageMask prefetch(const PrefetchView& view) const override { return density_hint(view, rules_); }

  bool looks_ahead() const override { return true; }
  Duration lookup_time() const override { return options_.lookup; }

  void on_launch(std::uint64_t id) override {
    if (current_ != 0) {
      next_kernel_[{history_, current_}] = id;
      history_ = {history_[1], history_[2], current_};
      if (last_fault_) tables_[current_].end = last_fault_;
    }
    current_ = id;
    last_fault_.reset();
    const bool as_predicted = !ahead_.empty() && ahead_.front() == id;
    predict();
    if (as_predicted && chain_ > 0)
      --chain_;
    else
      start_chain(0, tables_[id].start);
  }

  void on_faulted(FrameName block) override {
    if (current_ == 0 || block == last_fault_) return;
    BlockTable& table = tables_[current_];
    table.add(block, options_);
    if (last_fault_)
      table.follow(*last_fault_, block, options_);
    else
      table.start = block;
    last_fault_ = block;
    start_chain(0, block);
  }

  std::optional<FrameName> next(const AheadView& view) override {
    for (;;) {
      while (!queue_.empty()) {
        const FrameName block = queue_.front();
        queue_.pop_front();
        expand(block);
        if (view.absent(block)) return block;
      }
      if (chain_ >= ahead_.size()) return std::nullopt;  // as far ahead as it goes: on_launch lets it go on
      start_chain(chain_ + 1, tables_[ahead_[chain_]].start);
    }
  }

  bool expects(FrameName block) const override {
    return knows(current_, block) || std::ranges::any_of(ahead_, [&](std::uint64_t id) { return knows(id, block); });
  }

 private:
  using History = std::array<std::uint64_t, 3>;

  bool knows(std::uint64_t id, FrameName block) const {
    const auto table = tables_.find(id);
    return table != tables_.end() && table->second.successors(block, options_) != nullptr;
  }
  // The kernels that are to follow the current one.
  void predict() {
    ahead_.clear();
    History before = history_;
    for (std::uint64_t id = current_; ahead_.size() < static_cast<std::size_t>(options_.degree);) {
      const auto next = next_kernel_.find({before, id});
      if (next == next_kernel_.end()) return;
      before = {before[1], before[2], id};
      id = next->second;
      ahead_.push_back(id);
    }
  }
  // From `block` on in the kernel that is `kernels` ahead.
  void start_chain(std::size_t kernels, std::optional<FrameName> block) {
    chain_ = kernels;
    queue_.clear();
    seen_.clear();
    if (block) queue_.push_back(*block), seen_.insert(*block);
  }
  void expand(FrameName block) {
    const BlockTable& table = tables_[chain_ == 0 ? current_ : ahead_[chain_ - 1]];
    if (table.end == block) return;
    if (const std::vector<FrameName>* after = table.successors(block, options_))
      for (const FrameName successor : *after)
        if (seen_.insert(successor).second) queue_.push_back(successor);
  }

  DensityRules rules_;
  CorrelationOptions options_;
  std::uint64_t current_ = 0;
  History history_{};
  std::optional<FrameName> last_fault_;
  std::map<std::pair<History, std::uint64_t>, std::uint64_t> next_kernel_;
  std::map<std::uint64_t, BlockTable> tables_;  // by execution id
  std::vector<std::uint64_t> ahead_;            // predicted ids after the current one
  std::size_t chain_ = 0;                       // the chain is in the current kernel (0) or in ahead_[chain_ - 1]
  std::deque<FrameName> queue_;
  std::set<FrameName> seen_;
};

const bool kRegistered = add_plug_in<PrefetchPolicy, Correlation>(
    {.name = "correlation",
     .summary = "the driver's tree, and in the background what followed last time: execution-ID and block tables",
     .source = "Jung et al., ASPLOS 2023 (DeepUM)",
     .on_hardware = "another nvidia-uvm, and a runtime that announces each launch"});

}  // namespace
}  // namespace uvmsim
