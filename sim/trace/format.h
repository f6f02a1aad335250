// The names, numbers and limits of uvmtrace v1 that the reader, the writer and the checker share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "trace/record.h"

namespace uvmsim::trace {

// By Space's value; the option "space".
inline constexpr std::array<std::string_view, 4> kSpaceNames = {"m", "d", "h", "p"};

// By the record's index in the variant Record.
inline constexpr std::array<std::string_view, 17> kRecordTags = {"A", "F", "a", "f", "K", "C", "P", "D", "V",
                                                                 "X", "E", "W", "Y", "H", "I", "R", "L"};
static_assert(kRecordTags.size() == std::variant_size_v<Record>);

// What Header::durations_status may be, the most trustworthy first.
inline constexpr std::array<std::string_view, 4> kDurationStatuses = {"measured", "scaled", "fitted", "assumed"};

// What Header::operands_status may be.
inline constexpr std::array<std::string_view, 5> kOperandStatuses = {"exact", "superset", "lower_bound", "heuristic",
                                                                     "none"};

// What an integer of the format may be, inclusive.
struct Limits {
  std::int64_t low = 0;
  std::int64_t high = std::numeric_limits<std::int64_t>::max();
};

// 2^48: more than any GPU addresses, and small enough for offsets and lengths to add up.
inline constexpr std::int64_t kMostBytes = std::int64_t{1} << 48;
inline constexpr std::int64_t kMostChannels = 1 << 16;  // of images
// Eleven days; a Duration in picoseconds holds it nine times.
inline constexpr std::int64_t kMostNanoseconds = 1'000'000'000'000'000;
// Of a process at once: the 2^32 pages of 4 KiB that the simulated address space has.
inline constexpr std::int64_t kMostLiveBytes = std::int64_t{1} << 44;
// CTAs of a kernel, and touches of an access: 2^40 of each stay countable when multiplied by the threads of a CTA.
inline constexpr std::int64_t kMostCtas = std::int64_t{1} << 40;
inline constexpr std::int64_t kMostTouches = std::int64_t{1} << 40;
// Touches of an access that names them one by one: a few hundred MiB here.
inline constexpr std::int64_t kMostListedTouches = std::int64_t{1} << 24;
// From the first to the last byte of a tile, which may be a view larger than its tensor (a convolution's matrix).
inline constexpr std::int64_t kMostTileBytes = std::int64_t{1} << 56;
// Of a CTA: CUDA programming guide, technical specifications per compute capability.
inline constexpr std::int64_t kMostThreads = 1024;
// Rounds of a loop at a time: more than a compiler makes of a loop whose end it does not know.
inline constexpr std::int64_t kMostUnrolled = 64;
inline constexpr std::int64_t kMostInt32 = std::numeric_limits<std::int32_t>::max();

inline constexpr Limits kIds = {0, std::numeric_limits<std::int64_t>::max()};
// Rows or columns of what one CTA of a product makes: what is remembered goes by tiles.
inline constexpr Limits kTileExtents = {32, 4096};
inline constexpr Limits kSizes = {0, kMostBytes};
inline constexpr Limits kLengths = {-1, kMostBytes};               // -1: to the tensor's end
inline constexpr Limits kOperations = {0, std::int64_t{1} << 53};  // what a double counts exactly
inline constexpr Limits kTimes = {0, kMostNanoseconds};
inline constexpr Limits kNumbers = {0, kMostInt32};  // streams, events, strings, counts
inline constexpr Limits kPercent = {0, 100};
inline constexpr Limits kDevices = {0, 127};
inline constexpr Limits kDevicesOrHost = {-1, 127};

// A longer line is a fault: it bounds the memory a hostile file can ask for.
inline constexpr std::size_t kLongestLine = std::size_t{16} << 20;
// The header's lists and a skipped value may nest this deep.
inline constexpr int kDeepest = 64;

}  // namespace uvmsim::trace
