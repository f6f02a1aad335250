// Names that are compared whatever their case.
#pragma once

#include <cctype>
#include <string>
#include <string_view>

namespace uvmsim {

// "NCCL_Kernel" is "nccl_kernel".
inline std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

}  // namespace uvmsim
