// Members of the JSON object that a line is. What is missing or of another type throws trace::ParseError.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "trace/error_list.h"

namespace uvmsim {

// A whole number; `standard` where there is none.
inline std::int64_t whole(const nlohmann::json& line, const char* key,
                          std::optional<std::int64_t> standard = std::nullopt) {
  const auto found = line.find(key);
  if (found != line.end() && found->is_number_unsigned() && found->get<std::uint64_t>() <= INT64_MAX)
    return found->get<std::int64_t>();
  if (found != line.end() && found->is_number_integer() && !found->is_number_unsigned())
    return found->get<std::int64_t>();
  if (found == line.end() && standard) return *standard;
  throw trace::ParseError{std::string("expected \"") + key + "\", a whole number"};
}

// A string; "" where there is none and there need not be one.
inline std::string text(const nlohmann::json& line, const char* key, bool must = true) {
  const auto found = line.find(key);
  if (found != line.end() && found->is_string()) return found->get<std::string>();
  if (!must) return "";
  throw trace::ParseError{std::string("expected \"") + key + "\", a string"};
}

inline const nlohmann::json& list(const nlohmann::json& line, const char* key) {
  const auto found = line.find(key);
  if (found == line.end() || !found->is_array())
    throw trace::ParseError{std::string("expected \"") + key + "\", a list"};
  return *found;
}

}  // namespace uvmsim
