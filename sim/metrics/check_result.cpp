#include "metrics/check_result.h"

#include <cmath>
#include <numeric>
#include <stdexcept>
#include <type_traits>

#include "metrics/result_fields.h"

namespace uvmsim {
namespace {

// Where `value` has what it cannot have, and what: "/gpus/0/h2d_bytes is -4096"; "" when nothing is wrong. The place is
// put together on the way back only.
template <class T>
std::string impossible_in(const T& value);

template <class T>
std::string impossible_in(const std::vector<T>& values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (const std::string found = impossible_in(values[i]); !found.empty()) return "/" + std::to_string(i) + found;
  return "";
}

template <class T>
std::string impossible_in(const T& value) {
  std::string found;
  if constexpr (HasFields<T>) {
    for_each_member(value, [&](const auto& field, const auto& member) {
      if (!found.empty() || field.name == "lateness_s") return;  // negative: it was early
      found = impossible_in(member);
      if (!found.empty()) found = "/" + std::string(field.name) + found;
    });
  } else if constexpr (std::is_arithmetic_v<T>) {
    const auto number = static_cast<double>(value);
    if (!(number >= 0) || !std::isfinite(number)) found = " is " + std::to_string(value);
  }
  return found;
}

}  // namespace

Result checked(Result result) {
  std::string found = impossible_in(result);
  for (std::size_t i = 0; i < result.gpus.size() && found.empty(); ++i) {
    const std::vector<double>& iterations = result.gpus[i].iteration_s;
    const double total = std::accumulate(iterations.begin(), iterations.end(), 0.0);
    if (total > seconds(kNever))
      found = "/gpus/" + std::to_string(i) + "/iteration_s adds up to " + std::to_string(total) +
              " s, more than simulated time holds";
  }
  if (!found.empty()) throw std::logic_error("a result that cannot be: " + found);
  return result;
}

}  // namespace uvmsim
