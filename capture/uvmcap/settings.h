#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace uvmcap {

// What the environment asks for; `uvmcap` sets it.
struct Settings {
  std::string out = "uvmcap-%p.jsonl";   // UVMCAP_OUT; %p: the process id
  std::vector<std::string> kinds;        // UVMCAP_KINDS, comma-separated; default: kDefaultKinds
  std::uint64_t max_bytes = 0;           // UVMCAP_MAX_MB in MiB; 0: no limit
  std::uint64_t flush_ns = 200'000'000;  // UVMCAP_FLUSH_MS

  bool has(std::string_view kind) const;
};

// Everything but `um`: its records come at a cost to every fault.
inline constexpr std::string_view kDefaultKinds = "kernel,copy,memory,args,hints,sync";
inline constexpr std::string_view kAllKinds = "kernel,copy,memory,args,hints,sync,um";

// Reads the variables through `variable`, which gives nullptr for one that is not set. A value that cannot be used is
// left out and described in `problems`: a library that is loaded into somebody's program must not end it.
Settings read_settings(const std::function<const char*(const char*)>& variable, std::vector<std::string>& problems);

// `out` with the process id in the place of every %p.
std::string path_for(const std::string& out, std::int64_t pid);

}  // namespace uvmcap
