#include <algorithm>
#include <array>
#include <map>

#include "base/number_text.h"
#include "report/view.h"

namespace uvmsim {
namespace {

// Of the distribution function; the nearest rank counts: of n ascending values the one at ceil(share n).
constexpr std::array kPercentiles = {0, 10, 25, 50, 75, 90, 99, 100};

double percentile(const std::vector<double>& ascending, int percent) {
  const std::size_t rank = (ascending.size() * static_cast<std::size_t>(percent) + 99) / 100;
  return ascending[std::max<std::size_t>(rank, 1) - 1];
}

class AccessIntervals final : public View {
 public:
  ViewTable table(const ViewInput& input) const override {
    std::map<std::string, std::vector<double>> by_kind;
    for (const ObservedIteration& of : input.iterations)
      for (const AccessInterval& i : access_intervals(of.profile))
        for (const std::string& kind : {kind_of(of.graph(), i.tensor), std::string("all")})
          by_kind[kind].push_back(seconds(i.idle));
    ViewTable table{.title = "time between one use of a tensor and the next: percentiles by kind",
                    .columns = {"kind", "intervals"},
                    .rows = {}};
    for (const int percent : kPercentiles) table.columns.push_back("p" + std::to_string(percent) + "_s");
    for (auto& [kind, idle] : by_kind) {
      std::ranges::sort(idle);
      std::vector<ViewTable::Cell>& row = table.rows.emplace_back();
      row = {kind, static_cast<std::int64_t>(idle.size())};
      for (const int percent : kPercentiles) row.emplace_back(percentile(idle, percent));
      if (kind == "all")
        table.finding = "half of " + count_text(std::ssize(idle)) + " intervals are at most " +
                        seconds_text(percentile(idle, 50)) + ", 90 % at most " + seconds_text(percentile(idle, 90));
    }
    std::ranges::stable_sort(table.rows, std::greater{},
                             [](const auto& row) { return std::get<std::int64_t>(row[1]); });
    return table;
  }
};

const bool kRegistered = add_plug_in<View, AccessIntervals>(
    {.name = "access_intervals",
     .summary = "how long tensors are idle between two uses: distribution function by kind of tensor",
     .source = "Pinpointing the Memory Behaviors of DNN Training, ISPASS 2021, section III: access time intervals"});

}  // namespace
}  // namespace uvmsim
