#include <algorithm>
#include <array>
#include <map>

#include "base/quantity.h"
#include "report/csv.h"
#include "report/page.h"

namespace uvmsim {
namespace {

using Json = nlohmann::ordered_json;

// Columns of sweep.csv that a reader wants to see over the axes; those that are there are shown.
constexpr std::array kMetrics = {"duration_s",
                                 "slowdown",
                                 "throughput.value",
                                 "cuda_malloc_duration_s",
                                 "in_core_duration_s",
                                 "in_core_slowdown",
                                 "peak_live_bytes",
                                 "reserved_bytes",
                                 "host_peak_bytes",
                                 "totals.h2d_bytes",
                                 "totals.d2h_bytes",
                                 "totals.dead_h2d_bytes",
                                 "totals.evicted_bytes",
                                 "totals.fault_batches",
                                 "totals.fault_groups",
                                 "totals.fault_entries",
                                 "totals.time_split_s.fault_cpu_s",
                                 "totals.time_split_s.eviction_s",
                                 "totals.time_split_s.copy_in_s",
                                 "totals.time_split_s.link_wait_s",
                                 "totals.time_split_s.compute_s",
                                 "wall_s"};

using Row = std::vector<std::string>;

const std::string& at(const Row& row, std::size_t column) {
  static const std::string none;
  return column < row.size() ? row[column] : none;
}

}  // namespace

std::optional<std::vector<Json>> sweep_pages(std::string_view csv, const std::string& name) {
  const std::vector<Row> rows = read_csv(csv);
  if (rows.empty()) return std::nullopt;
  const Row& head = rows.front();
  const auto column = [&](std::string_view wanted) {
    return static_cast<std::size_t>(std::ranges::find(head, wanted) - head.begin());
  };
  const std::size_t sweep = column("sweep"), hash = column("hash"), outcome = column("outcome");
  if (sweep == head.size() || hash == head.size() || outcome == head.size() || hash > outcome) return std::nullopt;

  std::map<std::string, std::vector<const Row*>> by_sweep;
  for (std::size_t i = 1; i < rows.size(); ++i) by_sweep[at(rows[i], sweep)].push_back(&rows[i]);
  std::vector<Json> pages;
  for (const auto& entry : by_sweep) {  // not [id, points]: clang 14 cannot capture these
    const std::vector<const Row*>& points = entry.second;
    Json page = {{"name", by_sweep.size() > 1 ? name + ", sweep " + entry.first : name},
                 {"axes", Json::array()},
                 {"metrics", Json::array()},
                 {"points", Json::array()}};
    const auto used = [&](std::size_t c) {
      return std::ranges::any_of(points, [&](const Row* p) { return !at(*p, c).empty(); });
    };
    std::vector<std::size_t> axes, metrics;
    for (std::size_t c = hash + 1; c < outcome; ++c)
      if (used(c)) axes.push_back(c);
    for (const char* metric : kMetrics)
      if (const std::size_t c = column(metric); c < head.size() && used(c)) metrics.push_back(c);
    for (const std::size_t c : axes) page["axes"].push_back(head[c]);
    for (const std::size_t c : metrics) page["metrics"].push_back(head[c]);
    for (const Row* row : points) {
      Json point = {{"at", Json::object()}, {"outcome", at(*row, outcome)}, {"error", at(*row, column("error"))}};
      for (const std::size_t c : axes) point["at"][head[c]] = at(*row, c);
      point["values"] = Json::object();
      for (const std::size_t c : metrics) {
        const std::optional<double> value = parse_number(at(*row, c));
        point["values"][head[c]] = value ? Json(*value) : Json(nullptr);
      }
      page["points"].push_back(std::move(point));
    }
    pages.push_back(std::move(page));
  }
  return pages;
}

}  // namespace uvmsim
