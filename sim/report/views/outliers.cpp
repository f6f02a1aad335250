#include <algorithm>

#include "base/number_text.h"
#include "report/view.h"

namespace uvmsim {
namespace {

constexpr std::int64_t kLargeBytes = 100'000;  // assumed: of less, a copy's latency is most of its time

class Outliers final : public View {
 public:
  ViewTable table(const ViewInput& input) const override {
    ViewTable table{.title = "large tensors that are idle for long enough to go out and come back meanwhile",
                    .columns = {"tensor", "kind", "layer", "bytes", "idle_s", "swappable_bytes", "after", "before"},
                    .rows = {}};
    std::int64_t large = 0, bytes = 0;
    for (const ObservedIteration& of : input.iterations)
      for (const AccessInterval& i : access_intervals(of.profile)) {
        const GraphTensor& tensor = of.graph().tensors[static_cast<std::size_t>(i.tensor)];
        if (tensor.bytes < kLargeBytes) continue;
        ++large;
        const double swappable = swappable_bytes(i.idle, input.setting.links);
        if (static_cast<double>(tensor.bytes) > swappable) continue;
        bytes += tensor.bytes;
        table.rows.push_back({static_cast<std::int64_t>(i.tensor), kind_of(of.graph(), i.tensor),
                              layer_of(of.graph(), i.tensor), tensor.bytes, seconds(i.idle), swappable,
                              of.graph().name_of(i.last_use), of.graph().name_of(i.next_use)});
      }
    std::ranges::stable_sort(table.rows, std::greater{},
                             [](const auto& row) { return std::get<std::int64_t>(row[3]); });
    const LinkModel& links = input.setting.links;
    table.finding = count_text(std::ssize(table.rows)) + " of " + count_text(large) + " intervals of tensors of " +
                    bytes_text(double{kLargeBytes}) + " or more can hide a swap at " + bytes_text(links.out.value) +
                    "/s out and " + bytes_text(links.in.value) + "/s in: " + bytes_text(bytes) + " each way";
    return table;
  }
};

const bool kRegistered = add_plug_in<View, Outliers>(
    {.name = "outliers",
     .summary = "large tensors with long intervals between uses, which can be swapped at no cost",
     .source = "Pinpointing the Memory Behaviors of DNN Training, ISPASS 2021, section IV: outliers, equation 1"});

}  // namespace
}  // namespace uvmsim
