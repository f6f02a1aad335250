// Units of measured values.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace uvmsim {

// What one `unit` is in seconds, bytes, operations, samples or 1: "ms" is 1e-3, "GB/s" 1e9, "us/KiB" 1e-6 / 1024,
// "%" 0.01, "count" and "x" 1. Prefixes K, M, G, T are powers of 1000, Ki, Mi, Gi, Ti of 1024. nullopt for other texts.
std::optional<double> unit_factor(std::string_view unit);

// The unit that somebody meant who wrote `unit`, which is none: "B/s" for "bytes/s"; "" when none is near.
std::string unit_meant_by(std::string_view unit);

}  // namespace uvmsim
