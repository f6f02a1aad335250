// Pages over any number of frames.
#pragma once

#include "base/units.h"

namespace uvmsim {

// Pages [first, outer) of a VaSpace.
struct PageRange {
  PageNumber first{}, outer{};
  bool contains(PageNumber page) const { return first <= page && page < outer; }
};

}  // namespace uvmsim
