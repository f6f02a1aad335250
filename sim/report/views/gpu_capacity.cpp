#include <algorithm>

#include "base/number_text.h"
#include "report/view.h"

namespace uvmsim {
namespace {

class GpuCapacityView final : public View {
 public:
  ViewTable table(const ViewInput& input) const override {
    std::int64_t needs = 0;  // of the device that needs most
    for (const ObservedIteration& of : input.iterations) needs = std::max(needs, of.profile.peak());
    ViewTable table{.title = "GPUs against what an iteration holds at its peak, without what the allocator loses",
                    .columns = {"gpu", "memory_bytes", "needs_bytes", "times_memory", "fits"},
                    .rows = {}};
    std::int64_t fits = 0;
    for (const GpuCapacity& gpu : input.setting.gpus) {
      const double times = static_cast<double>(needs) / static_cast<double>(gpu.memory.value);
      fits += times <= 1 ? 1 : 0;
      table.rows.push_back({gpu.name, gpu.memory.value, needs, times, times <= 1 ? "yes" : "no"});
    }
    std::ranges::stable_sort(table.rows, {}, [](const auto& row) { return std::get<std::int64_t>(row[1]); });
    table.finding = "needs " + bytes_text(needs) + ": " + count_text(fits) + " of " +
                    count_text(std::ssize(table.rows)) + " have it";
    return table;
  }
};

const bool kRegistered = add_plug_in<View, GpuCapacityView>(
    {.name = "gpu_capacity",
     .summary = "which GPUs the model fits on, and how large it is as a multiple of their memory",
     .source = "the bundled machines' data sheets"});

}  // namespace
}  // namespace uvmsim
