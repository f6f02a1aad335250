#include "report/pool_curve.h"

#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "report/table.h"

namespace uvmsim {
namespace {

constexpr double kCurveWidth = 50;

}  // namespace

std::vector<PoolPoint> pool_points(const std::vector<PoolSample>& history, int device, std::size_t points) {
  std::vector<std::size_t> of_device;
  for (std::size_t i = 0; i < history.size(); ++i)
    if (history[i].device == device) of_device.push_back(i);
  std::vector<PoolPoint> chosen;
  const std::size_t count = std::min(points, of_device.size());
  for (std::size_t part = 0; part < count; ++part) {
    const auto first = of_device.begin() + static_cast<std::ptrdiff_t>(part * of_device.size() / count);
    const auto end = of_device.begin() + static_cast<std::ptrdiff_t>((part + 1) * of_device.size() / count);
    const std::size_t index =
        *std::max_element(first, end, [&](auto a, auto b) { return history[a].live_bytes < history[b].live_bytes; });
    chosen.push_back({.event = static_cast<std::int64_t>(index) + 1,
                      .used_bytes = history[index].live_bytes,
                      .pool_bytes = history[index].reserved_bytes});
  }
  return chosen;
}

std::string pool_curve(const std::vector<PoolPoint>& points, std::int64_t out_of_memory) {
  std::int64_t most = 1;
  for (const PoolPoint& point : points) most = std::max({most, point.pool_bytes, point.used_bytes});
  const auto width = [&](std::int64_t bytes) {
    return static_cast<std::size_t>(std::lround(kCurveWidth * static_cast<double>(bytes) / static_cast<double>(most)));
  };
  std::vector<std::vector<std::string>> rows = {{"event", "used", "pool"}};
  std::vector<std::string> bars = {""};
  for (const PoolPoint& point : points) {
    rows.push_back({count_text(point.event), bytes_text(point.used_bytes), bytes_text(point.pool_bytes)});
    const std::size_t used = width(point.used_bytes), pool = std::max(width(point.pool_bytes), used);
    bars.push_back(std::string(used, '#') + std::string(pool - used, '.'));
  }
  if (out_of_memory > 0) {
    rows.push_back({count_text(out_of_memory), "", ""});
    bars.push_back(std::string(points.empty() ? 0 : bars.back().size(), ' ') + "X out of memory");
  }
  std::string table = aligned(rows);
  for (std::size_t at = 0; const std::string& bar : bars) {
    const std::size_t end = table.find('\n', at);
    if (!bar.empty()) table.insert(end, "  " + bar);
    at = table.find('\n', end) + 1;
  }
  return table;
}

}  // namespace uvmsim
