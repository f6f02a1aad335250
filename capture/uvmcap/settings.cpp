#include "settings.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace uvmcap {

namespace {

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (comma > 0) parts.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

void read_number(const char* name, const char* text, std::uint64_t scale, std::uint64_t& value,
                 std::vector<std::string>& problems) {
  if (text == nullptr) return;
  std::uint64_t number = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, number);
  if (error != std::errc() || stop != end || number > UINT64_MAX / scale) {
    problems.push_back(std::string(name) + "=" + text + " is no whole number; it is ignored");
    return;
  }
  value = number * scale;
}

}  // namespace

bool Settings::has(std::string_view kind) const { return std::find(kinds.begin(), kinds.end(), kind) != kinds.end(); }

Settings read_settings(const std::function<const char*(const char*)>& variable, std::vector<std::string>& problems) {
  Settings settings;
  if (const char* out = variable("UVMCAP_OUT")) settings.out = out;
  const char* kinds = variable("UVMCAP_KINDS");
  const std::vector<std::string> known = split(kAllKinds);
  for (std::string& kind : split(kinds == nullptr ? kDefaultKinds : std::string_view(kinds))) {
    if (std::find(known.begin(), known.end(), kind) == known.end()) {
      problems.push_back("UVMCAP_KINDS names '" + kind + "', known are " + std::string(kAllKinds) + "; it is ignored");
    } else if (!settings.has(kind)) {
      settings.kinds.push_back(std::move(kind));
    }
  }
  read_number("UVMCAP_MAX_MB", variable("UVMCAP_MAX_MB"), std::uint64_t{1} << 20, settings.max_bytes, problems);
  read_number("UVMCAP_FLUSH_MS", variable("UVMCAP_FLUSH_MS"), 1'000'000, settings.flush_ns, problems);
  return settings;
}

std::string path_for(const std::string& out, std::int64_t pid) {
  std::string path = out;
  const std::string number = std::to_string(pid);
  for (std::size_t place = 0; (place = path.find("%p", place)) != std::string::npos; place += number.size()) {
    path.replace(place, 2, number);
  }
  return path;
}

}  // namespace uvmcap
