#include "importers/issue_order.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <tuple>

namespace uvmsim {
namespace {

// `stream`: the work of one stream by start, as indices into `work`.
void order_stream(std::vector<StreamWork>& work, std::span<const std::size_t> stream) {
  const auto called = std::ranges::find_if(stream, [&](std::size_t i) { return work[i].issued >= 0; });
  const auto early = called - stream.begin();
  std::int64_t last = called == stream.end() ? work[stream.front()].start - 1 : work[*called].issued - early - 1;
  for (const std::size_t i : stream) {
    // Where nothing was called, the host is taken to be no further ahead than the GPU.
    const std::int64_t own = called == stream.end() ? work[i].start : work[i].issued;
    last = work[i].issued = std::max(own, last + 1);
  }
}

}  // namespace

void order_streams(std::vector<StreamWork>& work) {
  std::vector<std::size_t> order(work.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto stream_of = [&](std::size_t i) { return std::pair(work[i].device, work[i].stream); };
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::tuple(stream_of(i), work[i].start, i); });
  for (std::size_t first = 0, outer = 0; first < order.size(); first = outer) {
    while (outer < order.size() && stream_of(order[outer]) == stream_of(order[first])) ++outer;
    order_stream(work, std::span(order).subspan(first, outer - first));
  }
}

}  // namespace uvmsim
