// Any bytes as the operators of a PyTorch step: refused with faults, or a valid trace.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/user_error.h"
#include "importers/torch_operators.h"
#include "trace/checker.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace uvmsim;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  try {
    const trace::Trace trace = read_torch_operators(ImportFile::of("a", bytes), dnn::roofline_device("v100"));
    UVMSIM_CHECK(check_trace(trace).empty(), "a step is not valid");
  } catch (const UserError& error) {
    UVMSIM_CHECK(!error.errors().empty(), "refused without a fault");
  }
  return 0;
}
