#include "gpu/programs/planes.h"

#include "gpu/programs/sweep.h"

namespace uvmsim {

void PageTouches::add(const Planes& planes, std::int64_t from, std::int64_t to, std::int64_t warps, bool write) {
  to = std::min(to, planes.faulting);
  if (from >= to) return;
  const PageNumber first = planes.page(from), outer = planes.page(to - 1) + 1;
  const auto weight = static_cast<std::uint16_t>(std::max<std::int64_t>(1, warps / (outer - first)));
  for (PageNumber page = first; page < outer; ++page) {
    if (page < outer_)
      add_touch(touches_, {page, weight, write});
    else
      touches_.push_back({page, weight, write});
  }
  outer_ = std::max(outer_, outer);
}

}  // namespace uvmsim
