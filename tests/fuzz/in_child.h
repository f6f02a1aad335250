// For fuzz targets that simulate: the engine allows one simulation per process.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <unistd.h>

#include "base/user_error.h"
#include "study/child_process.h"
#include "study/experiment.h"

namespace uvmsim {

// Runs `work` in a process of its own. It may refuse its input; any other end, or none within a minute, is a finding.
inline void run_in_child(const std::function<void()>& work) {
  constexpr unsigned kSeconds = 60;
  try {
    ChildProcess([&]() -> std::string {
      alarm(kSeconds);
      try {
        work();
      } catch (const UserError& error) {
        if (error.errors().empty()) throw std::runtime_error("refused without an error");
      }
      return {};
    }).wait();
  } catch (const std::runtime_error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::abort();
  }
}

// A file of the bundled configurations; `name` reads as `text`.
inline std::optional<std::string> bundled_or(const std::string& path, const std::string& name,
                                             const std::string& text) {
  return path == name ? std::optional(text) : read_text_file(path);
}

}  // namespace uvmsim
