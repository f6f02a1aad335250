#include <cmath>
#include <map>

#include "report/view.h"

namespace uvmsim {
namespace {

constexpr int kBinsPerDecade = 4;
constexpr std::size_t kWidth = 40;

// The bin of an interval of at least 1 ns; intervals below are in one bin of their own, from 0 on.
int bin_of(Duration idle) {
  const double ns = static_cast<double>(idle.count()) / 1000;
  return ns < 1 ? -1 : static_cast<int>(std::floor(std::log10(ns) * kBinsPerDecade));
}
double edge_s(int bin) { return bin < 0 ? 0 : 1e-9 * std::pow(10, static_cast<double>(bin) / kBinsPerDecade); }

class AccessIntervalDensity final : public View {
 public:
  ViewTable table(const ViewInput& input) const override {
    std::map<std::pair<std::string, int>, std::int64_t> bins;
    std::map<std::string, std::int64_t> count, most;
    for (const ObservedIteration& of : input.iterations)
      for (const AccessInterval& i : access_intervals(of.profile)) {
        const std::string kind = kind_of(of.graph(), i.tensor);
        ++count[kind];
        most[kind] = std::max(most[kind], ++bins[{kind, bin_of(i.idle)}]);
      }
    ViewTable table{
        .title = "intervals between uses, in bins of a quarter of a decade: the outline of a violin per kind",
        .columns = {"kind", "from_s", "to_s", "intervals", "share"},
        .rows = {}};
    for (const auto& [at, intervals] : bins) {
      const auto& [kind, bin] = at;
      table.rows.push_back({kind, edge_s(bin), edge_s(bin + 1), intervals,
                            static_cast<double>(intervals) / static_cast<double>(count[kind])});
      const auto bar = static_cast<std::size_t>(intervals) * kWidth / static_cast<std::size_t>(most[kind]);
      table.pictures.push_back(std::string(bar, '#') + std::string(kWidth - bar, ' '));
    }
    return table;
  }
};

const bool kRegistered = add_plug_in<View, AccessIntervalDensity>(
    {.name = "access_interval_density",
     .summary = "how many intervals between uses there are of each length, by kind of tensor",
     .source = "Pinpointing the Memory Behaviors of DNN Training, ISPASS 2021, section III: violin plots"});

}  // namespace
}  // namespace uvmsim
