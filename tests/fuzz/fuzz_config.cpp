// Any bytes as a config: refused with faults, or read.
#include <cstdint>
#include <string_view>

#include "study/experiment.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  uvmsim::parse_config_bytes({reinterpret_cast<const char*>(data), size});
  return 0;
}
