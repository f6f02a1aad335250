// Quantities as configs write them: "33.3 GB", "12 GB/s", "45 us".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"

namespace uvmsim {

// A decimal number, then a unit, with or without a space between. The result is rounded to whole bytes,
// bytes per second, or picoseconds. nullopt: no number, no unit, an unknown unit, or beyond 64 bits.
//   bytes      B, KB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB (powers of 1024)
//   bandwidth  the same, followed by "/s"
//   time       ps, ns, us, ms, s, min
std::optional<Bytes> parse_bytes(std::string_view text);
std::optional<BytesPerSecond> parse_bandwidth(std::string_view text);
std::optional<Duration> parse_duration(std::string_view text);

// The shortest exact text that parses back to the same quantity: 2097152 B is "2 MiB", 4500000 ps is "4.5 us".
std::string to_text(Bytes bytes);
std::string to_text(BytesPerSecond bandwidth);
std::string to_text(Duration duration);

// The whole of `text` as a finite decimal number ("44.3", "1e-3"); nullopt when it is none.
std::optional<double> parse_number(std::string_view text);

// What a value of the kind looks like, for error messages: `a time such as "45 us" (ps, ns, us, ms, s, min)`.
inline constexpr std::string_view kBytesForm = R"(a size such as "32 GiB" (B, KB, KiB, MB, MiB, GB, GiB, TB, TiB))";
inline constexpr std::string_view kBandwidthForm =
    R"(a bandwidth such as "12 GB/s" (B/s, KB/s, KiB/s, MB/s, MiB/s, GB/s, GiB/s, TB/s, TiB/s))";
inline constexpr std::string_view kDurationForm = R"(a time such as "45 us" (ps, ns, us, ms, s, min))";

}  // namespace uvmsim
