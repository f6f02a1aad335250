// How a trace's header says that its kernels' durations are not those in core.
#pragma once

#include <string_view>

namespace uvmsim::trace {

// Part of Header::durations where kernels were recorded while their pages faulted or moved.
inline constexpr std::string_view kFaultyDurations = "kernels that faulted took the faults' time, too";

}  // namespace uvmsim::trace
