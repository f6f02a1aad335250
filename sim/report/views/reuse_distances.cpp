#include <bit>
#include <map>

#include "base/number_text.h"
#include "report/view.h"

namespace uvmsim {
namespace {

// Bytes by position, summed over ranges in logarithmic time (Fenwick, Software: Practice and Experience 24(3), 1994).
class PositionSums {
 public:
  explicit PositionSums(std::size_t positions) : sums_(positions + 1) {}
  void add(std::size_t position, std::int64_t bytes) {
    for (std::size_t i = position + 1; i < sums_.size(); i += i & -i) sums_[i] += bytes;
  }
  std::int64_t before(std::size_t position) const {
    std::int64_t sum = 0;
    for (std::size_t i = position; i > 0; i -= i & -i) sum += sums_[i];
    return sum;
  }

 private:
  std::vector<std::int64_t> sums_;
};

// Calls `visit(distance)` for each use of a tensor that was used before, in this iteration or the one before:
// the bytes of all tensors used since, this one included, less what was freed. That much memory, managed by least
// recent use, still has it.
template <class Visit>
void for_each_reuse(const IterationGraph& graph, Visit&& visit) {
  constexpr auto kNever = static_cast<std::size_t>(-1);
  std::vector<std::size_t> last(graph.tensors.size(), kNever);
  std::vector<std::vector<std::int32_t>> freed(graph.kernels.size() + 1);
  for (std::int32_t t = 0; std::cmp_less(t, graph.tensors.size()); ++t) {
    const GraphTensor& tensor = graph.tensors[static_cast<std::size_t>(t)];
    if (tensor.freed || t >= graph.shape.held) freed[static_cast<std::size_t>(tensor.outer)].push_back(t);
  }
  PositionSums sums(2 * graph.uses.size());
  std::size_t position = 0;
  for (const bool measured : {false, true})
    for (std::size_t k = 0; k <= graph.kernels.size(); ++k) {
      for (const std::int32_t t : freed[k])
        if (std::size_t& at = last[static_cast<std::size_t>(t)]; at != kNever) {
          sums.add(at, -graph.tensors[static_cast<std::size_t>(t)].bytes);
          at = kNever;
        }
      if (k == graph.kernels.size()) continue;
      for (const TensorUse& use : graph.uses_of(static_cast<std::int32_t>(k))) {
        const std::int64_t bytes = graph.tensors[static_cast<std::size_t>(use.tensor)].bytes;
        std::size_t& at = last[static_cast<std::size_t>(use.tensor)];
        if (at != kNever) {
          if (measured) visit(sums.before(position) - sums.before(at));
          sums.add(at, -bytes);
        }
        at = position++;
        sums.add(at, bytes);
      }
    }
}

class ReuseDistances final : public View {
 public:
  ViewTable table(const ViewInput& input) const override {
    std::map<std::int64_t, std::int64_t> classes;
    std::int64_t all = 0;
    for (const ObservedIteration& of : input.iterations)
      for_each_reuse(of.graph(), [&](std::int64_t distance) {
        ++classes[static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(distance)))];
        ++all;
      });
    ViewTable table{.title =
                        "bytes used between two uses of a tensor, itself included; cumulative: the hit rate of so much "
                        "memory under least recent use",
                    .columns = {"up_to_bytes", "uses", "share", "cumulative_share"},
                    .rows = {}};
    std::int64_t upto = 0;
    for (const auto& [bytes, uses] : classes) {
      upto += uses;
      const double share = static_cast<double>(uses) / static_cast<double>(all);
      const double cumulative = static_cast<double>(upto) / static_cast<double>(all);
      if (table.finding.empty() && 2 * upto >= all)
        table.finding = percent_text(cumulative) + " of " + count_text(all) + " uses are of tensors among the last " +
                        bytes_text(bytes) + " used";
      table.rows.push_back({bytes, uses, share, cumulative});
    }
    return table;
  }
};

const bool kRegistered =
    add_plug_in<View, ReuseDistances>({.name = "reuse_distances",
                                       .summary = "how much else is used between two uses of a tensor",
                                       .source = "Mattson et al., IBM Systems Journal 9(2), 1970: stack distances"});

}  // namespace
}  // namespace uvmsim
