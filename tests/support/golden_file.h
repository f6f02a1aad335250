// Committed files that a program's output must equal.
#pragma once

#include <cstdlib>
#include <fstream>
#include <string>

#include "support/read_file.h"

namespace uvmsim::test {

// The content of `path`. With UVMSIM_UPDATE_GOLDEN set in the environment, `actual` is written there first.
inline std::string golden_file(const std::string& path, const std::string& actual) {
  if (std::getenv("UVMSIM_UPDATE_GOLDEN") != nullptr) std::ofstream(path, std::ios::binary) << actual;
  return read_file(path).value_or("no file " + path);
}

}  // namespace uvmsim::test
