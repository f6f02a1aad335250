#include <algorithm>

#include "base/number_text.h"
#include "plan/lineage.h"
#include "report/view.h"

namespace uvmsim {
namespace {

// Tensors that can be dropped after the forward pass and made again, by the bytes that this saves for each second of
// kernels that run again.
class MemorySavingPerSecond final : public View {
 public:
  ViewTable table(const ViewInput& input) const override {
    ViewTable table{.title = "what can be computed again, by the bytes saved for a second of kernels that run again",
                    .columns = {"tensor", "kind", "layer", "bytes", "kernels", "again_s", "saved_bytes_per_s"},
                    .rows = {}};
    double bytes = 0, again = 0;
    for (const ObservedIteration& of : input.iterations) {
      const Lineage lineage(of.graph());
      for (const std::size_t n : recomputable(of.profile, lineage, Bytes{1})) {
        const Interval& interval = of.profile.intervals[n];
        const Making& making = lineage.of(interval.tensor);
        const auto size = static_cast<double>(interval.bytes);
        bytes += size;
        again += seconds(making.time);
        table.rows.push_back({std::int64_t{interval.tensor}, kind_of(of.graph(), interval.tensor),
                              layer_of(of.graph(), interval.tensor), interval.bytes,
                              static_cast<std::int64_t>(making.kernels.size()), seconds(making.time),
                              size / std::max(seconds(making.time), 1e-12)});
      }
    }
    std::ranges::stable_sort(table.rows, std::greater{}, [](const auto& row) { return std::get<double>(row[6]); });
    if (!table.rows.empty())
      table.finding = bytes_text(bytes) + " in " + count_text(std::ssize(table.rows)) +
                      " tensors can be made again in " + seconds_text(again);
    return table;
  }
};

const bool kRegistered = add_plug_in<View, MemorySavingPerSecond>(
    {.name = "memory_saving_per_second",
     .summary = "tensors ranked by what recomputing them saves: MSPS",
     .source = "Peng et al., Capuchin, ASPLOS 2020, section 4.4: memory saving per second, with all inputs there"});

}  // namespace
}  // namespace uvmsim
